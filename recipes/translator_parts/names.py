"""Names of people and places for the translators' copies and phrases: lists of our own, and names that nobody has.

What `translator.py check` asks for is in lists apart (`CHECKED`), which nothing is trained on by us.
"""

import random
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Names(NamedTuple):
    """People, whose names are written alike in both languages, and places, Spanish to English."""

    men: tuple[str, ...]
    women: tuple[str, ...]
    surnames: tuple[str, ...]
    cities: dict[str, str]
    countries: dict[str, str]
    made_up: float = 0.0
    """Share of people whose names are made up."""
    words: tuple[str, ...] = ()
    """Words whose halves make names: what a model must copy is any sequence of pieces."""


def listed(text: str) -> tuple[str, ...]:
    """Read "Luis Juan_Pablo"."""
    return tuple(word.replace("_", " ") for word in text.split())


def places(text: str) -> dict[str, str]:
    """Read "Londres London, Lima, Nueva_York New_York": one word is written alike."""
    pairs = [item.split() for item in text.split(",")]
    return {pair[0].replace("_", " "): pair[-1].replace("_", " ") for pair in pairs}


TRAINED = Names(
    men=listed(
        "Luis Pablo Diego Hugo Bruno Marcos Felipe Andrés Miguel Javier Sergio Rubén Iván Óscar Adrián Carlos José "
        "Antonio Manuel Francisco Fernando Jorge Alberto Rafael Ramón Pedro Ángel Enrique Vicente Eduardo Roberto "
        "Alejandro Daniel David Mario Raúl Víctor Ricardo Joaquín Emilio Guillermo Gabriel Martín Ignacio Nicolás "
        "Samuel Mateo Lucas Tomás Esteban Julio César Gonzalo Rodrigo Salvador Ernesto Oliver Liam Noah Ethan "
        "Henry Jack Leo Max James William Robert Michael George Edward Peter Paul Mark Steven Kevin Brian Frank "
        "Walter Arthur Harry Charlie Karim Omar Chen Hiroshi Kenji Arjun Ravi Ivan Pavel Lars Erik Hans Klaus "
        "Stefan Luca Marco Pierre Jean Kofi Tariq Yusuf Ahmed Ali Mehmet Igor Dmitri Jorge_Luis Juan_Carlos "
        "José_Luis Miguel_Ángel Juan_Pablo Luis_Miguel"
    ),
    women=listed(
        "Ana Carla Elena Sara Nora Olga Irene Clara Lucía Rosa Paula Marta Alba Inés Julia Carmen Isabel Laura "
        "Cristina Pilar Teresa Patricia Beatriz Silvia Raquel Mónica Susana Alicia Lola Andrea Sofía Valeria "
        "Camila Daniela Gabriela Natalia Lorena Verónica Esther Eva Victoria Noelia Rocío Sonia Belén Esperanza "
        "Mercedes Emma Sophie Grace Ruth Alice Chloe Lily Zoe Hannah Emily Charlotte Elizabeth Sarah Jessica "
        "Jennifer Linda Susan Karen Nancy Margaret Helen Kate Lucy Fátima Leila Mei Yuki Keiko Priya Nadia Anja "
        "Ingrid Greta Giulia Chiara Camille Amara Zainab Aisha Olena Svetlana Ana_María María_José María_Teresa "
        "Ana_Isabel Rosa_María"
    ),
    surnames=listed(
        "García Fernández González Rodríguez López Martínez Sánchez Pérez Gómez Martín Jiménez Ruiz Hernández Díaz "
        "Moreno Muñoz Álvarez Romero Alonso Gutiérrez Navarro Torres Domínguez Vázquez Ramos Gil Ramírez Serrano "
        "Blanco Molina Morales Suárez Ortega Delgado Castro Ortiz Rubio Marín Sanz Núñez Iglesias Medina Garrido "
        "Cortés Castillo Santos Lozano Guerrero Cano Prieto Méndez Cruz Calvo Gallego Vidal León Herrera Peña "
        "Flores Cabrera Campos Vega Fuentes Carrasco Aguilar Caballero Nieto Reyes Pascual Herrero Santana Lorenzo "
        "Hidalgo Smith Johnson Williams Brown Jones Miller Davis Wilson Anderson Taylor Thomas Moore White Harris "
        "Clark Lewis Robinson Walker Young Allen King Wright Scott Baker Carter Turner Hughes Foster Murphy "
        "Kowalski Novak Rossi Bianchi Tanaka Suzuki Nguyen Singh Patel Okafor Hansen Keller Schmidt Weber Dubois "
        "Laurent Silva Pereira Ivanov Petrov Kim Park Wang Li García_Márquez Pérez_Galdós López_Vega Ruiz_Zafón"
    ),
    cities=places(
        "Londres London, Nueva_York New_York, París Paris, Roma Rome, Berlín Berlin, Moscú Moscow, Pekín Beijing, "
        "Tokio Tokyo, Ginebra Geneva, Atenas Athens, Viena Vienna, Lisboa Lisbon, Sevilla Seville, Praga Prague, "
        "Varsovia Warsaw, Estocolmo Stockholm, Copenhague Copenhagen, Bruselas Brussels, La_Habana Havana, "
        "Filadelfia Philadelphia, Múnich Munich, Venecia Venice, Florencia Florence, Milán Milan, Edimburgo "
        "Edinburgh, Dublín Dublin, El_Cairo Cairo, Jerusalén Jerusalem, Estambul Istanbul, Nueva_Delhi New_Delhi, "
        "Seúl Seoul, Ciudad_de_México Mexico_City, Los_Ángeles Los_Angeles, Sídney Sydney, Kioto Kyoto, Nápoles "
        "Naples, Hamburgo Hamburg, Ámsterdam Amsterdam, Zaragoza Zaragoza, Madrid, Barcelona, Valencia, Bilbao, "
        "Granada, Málaga, Toledo, Salamanca, Burgos, Alicante, Lima, Quito, Bogotá, Caracas, Santiago, Montevideo, "
        "Buenos_Aires, Rosario, Córdoba, Mendoza, Monterrey, Guadalajara, Puebla, Medellín, San_Juan, San_José, "
        "San_Francisco, Chicago, Toronto, Miami, Dallas, Houston, Seattle, Denver, Washington, Boston, Oslo, "
        "Helsinki, Osaka, Melbourne, Nairobi, Dakar, Manchester, Liverpool, Oxford, Cambridge, Las_Vegas, "
        "Vancouver, Shanghai"
    ),
    countries=places(
        "España Spain, Alemania Germany, Francia France, Italia Italy, Inglaterra England, Irlanda Ireland, "
        "Escocia Scotland, Suecia Sweden, Noruega Norway, Dinamarca Denmark, Finlandia Finland, Polonia Poland, "
        "Hungría Hungary, Grecia Greece, Turquía Turkey, Rusia Russia, Ucrania Ukraine, Suiza Switzerland, "
        "Austria, Bélgica Belgium, Portugal, Marruecos Morocco, Egipto Egypt, Sudáfrica South_Africa, Kenia Kenya, "
        "Nigeria, Japón Japan, China, Corea_del_Sur South_Korea, Tailandia Thailand, Vietnam, Canadá Canada, "
        "México Mexico, Brasil Brazil, Chile, Perú Peru, Colombia, Venezuela, Ecuador, Bolivia, Uruguay, Paraguay, "
        "Argentina, Cuba, Nueva_Zelanda New_Zealand, Panamá Panama, Costa_Rica, Guatemala, Honduras, Nicaragua, "
        "Australia, Rumanía Romania, Croacia Croatia, Islandia Iceland"
    ),
    made_up=0.5,
)
CHECKED = Names(
    men=("Gerardo", "Leandro", "Baltasar", "Anselmo", "Horacio", "Bernardo", "Desmond", "Rupert", "Fergus", "Takeshi"),
    women=(
        "Amparo",
        "Consuelo",
        "Estefanía",
        "Herminia",
        "Leonor",
        "Penélope",
        "Beatrix",
        "Gwendolyn",
        "Saskia",
        "Noor",
    ),
    surnames=(
        *("Villalobos", "Echeverría", "Zambrano", "Quintanilla", "Montesinos", "Ferreira", "Whitfield", "Abernathy"),
        *("Lindqvist", "Yamaguchi", "Papadopoulos", "Osborne", "Urrutia", "Bermúdez", "Castellanos", "Holloway"),
    ),
    cities=places(
        "Arequipa, Guayaquil, Pamplona, Santander, Cartagena, Valparaíso, Tegucigalpa, Brighton, Glasgow, Phoenix, "
        "Baltimore, Rotterdam, Bangkok"
    ),
    countries=places("Mongolia, Angola, Senegal, Malta, Tanzania, Uganda, Botswana"),
)
ONSETS = "b br c ch cl d f g gr h j k l ll m n p pr qu r s sh st t th tr v w y z".split()
VOWELS = "a a a e e e i i o o o u u ai au ia oo á é í ó".split()
CODAS = "n r s l m".split()
ENDINGS = (
    "a o e ez dez ía ón ado illo era ano ino aga ero ín son man berg ini elli ova ov escu ski ton ford ley ham well "
    "worth sen maki wa moto shi ani oglu opoulos ier eau n s x".split()
)


def with_words(names: Names, texts: Iterable[str]) -> Names:
    """Give names that are made up of the halves of the words of texts too."""
    found = {word for text in texts for word in re.findall(r"\b[a-záéíóúñü]{4,}\b", text)}
    return names._replace(words=tuple(sorted(found)))


def invent(chance: random.Random, words: Sequence[str] = ()) -> str:
    """Make a name: of halves of two words, or of one or two syllables and an ending."""
    if words and chance.random() < 0.7:
        first, last = chance.choice(words), chance.choice(words)
        return (first[: chance.randint(2, 5)] + last[-chance.randint(2, 5) :]).capitalize()
    made = ""
    for _ in range(chance.choice((1, 1, 2))):
        made += chance.choice(ONSETS) + chance.choice(VOWELS)
    ending = chance.choice(ENDINGS)
    if ending[0] in "aeiouíó":
        made += chance.choice("bcdfglmnprstvz")
    elif len(ending) > 1 and chance.random() < 0.5:
        made += chance.choice(CODAS)
    return re.sub("qu?(?=[aouáó])", "c", made + ending).capitalize()


def draw_first(names: Names, chance: random.Random, *, woman: bool) -> str:
    """Draw a first name."""
    if chance.random() < names.made_up:
        return invent(chance, names.words)
    return chance.choice(names.women if woman else names.men)


def draw_surname(names: Names, chance: random.Random) -> str:
    """Draw a family name, now and then two of them with a hyphen."""
    if chance.random() < names.made_up:
        return invent(chance, names.words)
    if names.made_up and chance.random() < 0.04:
        return "-".join(chance.sample(names.surnames, 2))
    return chance.choice(names.surnames)


def draw_person(names: Names, chance: random.Random, *, woman: bool) -> str:
    """Draw a first name, or all the names of a person."""
    first = draw_first(names, chance, woman=woman)
    surnames = chance.choices((0, 1, 2), weights=(7, 3, 0.4))[0]
    return " ".join([first, *(draw_surname(names, chance) for _ in range(surnames))])


def draw_place(names: Names, chance: random.Random, *, country: bool = False) -> tuple[str, str]:
    """Draw a city or country in Spanish and English."""
    if not country and chance.random() < names.made_up / 2:
        return (made := invent(chance, names.words)), made
    return chance.choice(list((names.countries if country else names.cities).items()))


def with_right_and(text: str) -> str:
    """Write e for y before i, and u for o before o, as Spanish does.

    >>> with_right_and("Ana y Inés, Luis o Óscar, nieve y hielo")
    'Ana e Inés, Luis u Óscar, nieve y hielo'
    """
    text = re.sub(r"\by (?=[IÍ](?![aeo]))", "e ", text)
    text = re.sub(r"\by (?=Hi(?![aeo]))", "e ", text)
    return re.sub(r"\bo (?=H?[OÓ])", "u ", text)
