"""Phrases of our own with dates, hours, amounts, names and titles, Spanish and English: what Tatoeba's pairs lack.

A frame is a pair of sentences with slots; `draw_phrases` fills them:

    {D} {d} {M} {m} {y}    14 de marzo de 1987, 14 de marzo, marzo de 1987, marzo, 1987; {y2} a later year
    {w} {ws}               lunes and Monday, lunes and Mondays (sábados)
    {t} {o} {T}            las tres y media, Son las tres y media and half past three; 15:30
    {n} {N} {x} {e} {q} {k}  count, thousands, decimals, price, amount, digits as of a telephone
    {s} {g} {h} {v}        spelled out, before masculine and feminine nouns; hundreds; century
    {p} {f} {l} {c} {C}    man, woman, family name, city, country
    {z} {b} {u} {r} {a}    3/4/2021, -5, 5 % and 5%, 10-15, 1/2
    {i} {I} {j} {X}        Felipe II and Philip II; Isabel II and Elizabeth II; IV; a code such as B-12

A digit behind a slot (d2) draws once more.
"""

import random
import re
from collections.abc import Iterable, Iterator

from regard.data.corpora.pair import Pair
from translator_parts.names import Names, with_right_and
from translator_parts.signs import BUTTONS, MARKS, SIGNS
from translator_parts.slots import draw_slots

DATES = """
Nací el {D}. | I was born on {D}.
{p} nació el {D}. | {p} was born on {D}.
{f} {l} nació en {c} el {D}. | {f} {l} was born in {c} on {D}.
Nació el {D} en {c}. | He was born on {D}, in {c}.
Ella nació el {D}. | She was born on {D}.
Mi padre nació el {d}. | My father was born on {d}.
Mi hija nació en {M}. | My daughter was born in {M}.
¿Naciste en {y}? | Were you born in {y}?
{p} murió el {D}. | {p} died on {D}.
El escritor murió en {c} el {D}. | The writer died in {c} on {D}.
Mi abuela murió en {M}. | My grandmother died in {M}.
Él murió en {y} a los {n} años. | He died in {y} at the age of {n}.
La reunión es el {d}. | The meeting is on {d}.
La reunión será el {w} {d}. | The meeting will be on {w}, {d}.
La próxima reunión es el {w} a {t}. | The next meeting is on {w} at {t}.
La boda fue el {D} en {c}. | The wedding was on {D}, in {c}.
Nos casamos el {D}. | We got married on {D}.
{p} y {f} se casaron en {M}. | {p} and {f} got married in {M}.
La tienda abre el {d}. | The store opens on {d}.
El museo está cerrado desde el {d} hasta el {d2}. | The museum is closed from {d} to {d2}.
Estaremos en {c} del {d} al {d2}. | We will be in {c} from {d} to {d2}.
Vivo aquí desde {M}. | I have lived here since {M}.
Trabajo en esta empresa desde el {D}. | I have worked for this company since {D}.
No la he visto desde el {d}. | I haven't seen her since {d}.
Desde {y} {p} vive en {c}. | Since {y}, {p} has lived in {c}.
Tienes hasta el {d} para pagar. | You have until {d} to pay.
La oferta es válida hasta el {D}. | The offer is valid until {D}.
El pasaporte vence el {D}. | The passport expires on {D}.
El contrato se firmó el {D}. | The contract was signed on {D}.
La guerra terminó en {y}. | The war ended in {y}.
La guerra duró de {y} a {y2}. | The war lasted from {y} to {y2}.
{p} vivió en {C} de {y} a {y2}. | {p} lived in {C} from {y} to {y2}.
El edificio fue construido en {y}. | The building was built in {y}.
La empresa se fundó en {y}. | The company was founded in {y}.
La universidad fue fundada el {D}. | The university was founded on {D}.
La carta lleva fecha del {D}. | The letter is dated {D}.
Hoy es {d}. | Today is {d}.
Hoy es {w}, {D}. | Today is {w}, {D}.
Mañana es {w}. | Tomorrow is {w}.
Ayer fue {d}. | Yesterday was {d}.
Mi cumpleaños es el {d}. | My birthday is on {d}.
¿Qué hiciste el {d}? | What did you do on {d}?
¿Dónde estabas el {D}? | Where were you on {D}?
¿Puedes venir el {w} {d}? | Can you come on {w}, {d}?
Llegamos a {c} el {D}. | We arrived in {c} on {D}.
El tren sale el {w} a {t}. | The train leaves on {w} at {t}.
El vuelo sale el {d} a las {T}. | The flight leaves on {d} at {T}.
La exposición se inauguró el {D}. | The exhibition opened on {D}.
El examen es el {w} {d}. | The exam is on {w}, {d}.
Recibí tu carta el {d}. | I received your letter on {d}.
El curso empieza el {d} y termina el {d2}. | The course starts on {d} and ends on {d2}.
Antes del {d} no puedo. | I can't before {d}.
Después del {d} estaré en {c}. | After {d}, I will be in {c}.
El plazo termina el {w} {d}. | The deadline is {w}, {d}.
Era un {w} de {m}. | It was a {w} in {m}.
Trabajo los {ws}. | I work on {ws}.
Los {ws} no trabajo. | I don't work on {ws}.
Nos vemos el {w}. | See you on {w}.
El {w} pasado fui a {c}. | Last {w}, I went to {c}.
El próximo {w} iré a {c}. | Next {w}, I will go to {c}.
En {m} hace mucho viento. | It is very windy in {m}.
En {M} viajamos a {C}. | In {M}, we traveled to {C}.
La película se estrenó el {D}. | The movie was released on {D}.
El accidente ocurrió el {w} {d} a {t}. | The accident happened on {w}, {d}, at {t}.
Volveré el {d}. | I will be back on {d}.
Mis vacaciones empiezan el {d}. | My vacation starts on {d}.
Entre el {d} y el {d2} estaré fuera. | Between {d} and {d2}, I will be away.
Firmado en {c} el {D}. | Signed in {c} on {D}.
{c}, {D} | {c}, {D}
{D} | {D}
"""
HOURS = """
{o}. | It's {o}.
La clase empieza a {t}. | The class starts at {t}.
Nos vemos a {t}. | See you at {t}.
Me levanto a {t}. | I get up at {t}.
Te llamo a {t}. | I'll call you at {t}.
Llegué a casa a {t}. | I got home at {t}.
¿Puedes venir a {t}? | Can you come at {t}?
La reunión empezó a {t} y terminó a {t2}. | The meeting started at {t} and ended at {t2}.
El tren llega a las {T}. | The train arrives at {T}.
La tienda cierra a las {T}. | The store closes at {T}.
El banco está abierto de {T} a {T2}. | The bank is open from {T} to {T2}.
El último autobús sale a las {T}. | The last bus leaves at {T}.
Quedamos el {w} a las {T}. | Let's meet on {w} at {T}.
"""
AMOUNTS = """
Tengo {n} años. | I am {n} years old.
Mi hermana tiene {s} años. | My sister is {s} years old.
Mi abuelo cumplió {s} años. | My grandfather turned {s}.
{f} tiene {n} años y {p} tiene {n2}. | {f} is {n} years old and {p} is {n2}.
El pueblo tiene {N} habitantes. | The town has {N} inhabitants.
La ciudad tiene más de {N} habitantes. | The city has more than {N} inhabitants.
La torre mide {n} metros. | The tower is {n} meters high.
El río tiene {N} kilómetros de largo. | The river is {N} kilometers long.
La temperatura es de {x} grados. | The temperature is {x} degrees.
El paquete pesa {x} kilos. | The package weighs {x} kilos.
El {n} por ciento de los alumnos aprobó. | {n} percent of the students passed.
Los precios subieron un {x} %. | Prices rose by {x}%.
Mi habitación es la {n}. | My room is number {n}.
Abre el libro por la página {n}. | Open the book to page {n}.
El autobús {n} va a {c}. | Bus {n} goes to {c}.
El libro tiene {g} páginas. | The book has {g} pages.
El total asciende a {q} euros. | The total comes to {q} euros.
La cuenta es de {q} euros. | The bill is {q} euros.
Pagué {q} dólares. | I paid {q} dollars.
El billete cuesta {e} euros. | The ticket costs {e} euros.
Me debes {n} euros. | You owe me {n} euros.
{p} gana {N} dólares al año. | {p} earns {N} dollars a year.
El alquiler sube a {q} euros al mes. | The rent goes up to {q} euros a month.
El coche costó {N} euros. | The car cost {N} euros.
Son {e} euros. | That's {e} euros.
Vendieron la casa por {N} euros. | They sold the house for {N} euros.
La factura número {k} es de {q} euros. | Invoice number {k} is for {q} euros.
Mi número es el {k}. | My number is {k}.
Llámame al {k}. | Call me at {k}.
El teléfono del hotel es el {k}. | The hotel's phone number is {k}.
El código es {k}. | The code is {k}.
{N} | {N}
{q} euros | {q} euros
"""
SPELLED = """
En la caja hay {s} huevos. | There are {s} eggs in the box.
Esperamos {s} minutos. | We waited for {s} minutes.
Faltan {s} días. | There are {s} days left.
La clase tiene {s} alumnos. | The class has {s} students.
Hace {h} años había un bosque aquí. | {h} years ago, there was a forest here.
El árbol tiene {h} años. | The tree is {h} years old.
La iglesia tiene más de {h} años. | The church is more than {h} years old.
El libro tiene {g} páginas y {s} dibujos. | The book has {g} pages and {s} drawings.
La fábrica tiene {h} empleados. | The factory has {h} employees.
Mi abuela vivió {s} años. | My grandmother lived {s} years.
Esta iglesia es del siglo {v}. | This church is from the {v} century.
La ciudad fue fundada en el siglo {v}. | The city was founded in the {v} century.
El castillo se construyó a finales del siglo {v}. | The castle was built at the end of the {v} century.
Vivimos en el siglo XXI. | We live in the 21st century.
Un siglo son cien años. | A century is a hundred years.
Dos siglos son doscientos años. | Two centuries are two hundred years.
Medio siglo son cincuenta años. | Half a century is fifty years.
Una década son diez años. | A decade is ten years.
Un milenio son mil años. | A millennium is a thousand years.
Hace un siglo no había coches aquí. | A century ago, there were no cars here.
Pasaron {s} siglos. | {s} centuries passed.
"""
TITLES = """
El señor {l} vive en {c}. | Mr. {l} lives in {c}.
El señor {p} {l} es de {C}. | Mr. {p} {l} is from {C}.
La señora {l} trabaja en {c}. | Mrs. {l} works in {c}.
¿Está el señor {l}? | Is Mr. {l} here?
Quisiera hablar con la señora {l}. | I would like to speak with Mrs. {l}.
Buenos días, señor {l}. | Good morning, Mr. {l}.
Buenas tardes, señora {l}. | Good afternoon, Mrs. {l}.
Gracias, doctora {l}. | Thank you, Dr. {l}.
El doctor {l} no está hoy. | Dr. {l} is not here today.
La señorita {l} es nuestra profesora. | Miss {l} is our teacher.
Este es el señor {l}. | This is Mr. {l}.
Quiero presentarle al señor {l}. | I would like to introduce you to Mr. {l}.
Esta es la casa del señor {l}. | This is Mr. {l}'s house.
El coche de la señora {l} es rojo. | Mrs. {l}'s car is red.
El profesor {l} enseña historia. | Professor {l} teaches history.
La profesora {l} nació en {C}. | Professor {l} was born in {C}.
Señor {l}, tiene una llamada. | Mr. {l}, you have a call.
Señora {l}, pase, por favor. | Mrs. {l}, come in, please.
El señor y la señora {l} llegaron ayer. | Mr. and Mrs. {l} arrived yesterday.
La cita con el doctor {l} es el {w} a {t}. | The appointment with Dr. {l} is on {w} at {t}.
El señor {l} salió temprano de la oficina. | Mr. {l} left the office early.
Le di las llaves a la señora {l}. | I gave the keys to Mrs. {l}.
Recibí una carta del señor {l}. | I received a letter from Mr. {l}.
La doctora {l} está de vacaciones hasta el {d}. | Dr. {l} is on vacation until {d}.
Estimado señor {l}: | Dear Mr. {l},
Estimada señora {l}: | Dear Mrs. {l},
El señor {l} | Mr. {l}
"""
NAMES = """
Me llamo {p} {l}. | My name is {p} {l}.
Me llamo {f} y soy de {c}. | My name is {f} and I'm from {c}.
{f} {l} vive en {C}. | {f} {l} lives in {C}.
¿Conoces a {f} {l}? | Do you know {f} {l}?
Mi apellido es {l}. | My last name is {l}.
{p} y {f} viven en {c}. | {p} and {f} live in {c}.
Viajamos de {c} a {c2}. | We traveled from {c} to {c2}.
El vuelo de {c} a {c2} dura {n} horas. | The flight from {c} to {c2} takes {n} hours.
Me gusta {c}. | I like {c}.
¿Has estado en {C}? | Have you been to {C}?
{p} es de {C}. | {p} is from {C}.
El libro es de {p} {l}. | The book is by {p} {l}.
Estudié en {c} y trabajé en {c2}. | I studied in {c} and worked in {c2}.
Mi hermano vive en {C}. | My brother lives in {C}.
{f}, este es {p}. | {f}, this is {p}.
{c} | {c}
{C} | {C}
{p} {l} | {p} {l}
"""
GREETINGS = """
Buenos días. | Good morning.
Buenos días, ¿cómo estás? | Good morning, how are you?
Buenas tardes, ¿cómo está usted? | Good afternoon, how are you?
Hola, ¿qué tal? | Hi, how's it going?
Hola, {p}, ¿cómo estás? | Hi, {p}, how are you?
Buenas noches, {f}. | Good night, {f}.
Muchas gracias por tu ayuda. | Thank you very much for your help.
De nada. | You're welcome.
Hasta mañana, {p}. | See you tomorrow, {p}.
Hasta luego. | See you later.
Encantado de conocerte. | Nice to meet you.
¿Cómo te llamas? | What's your name?
¿De dónde eres? | Where are you from?
Bien, gracias, ¿y tú? | Fine, thanks, and you?
Perdón, ¿habla usted inglés? | Excuse me, do you speak English?
¿Dónde está el baño, por favor? | Where is the bathroom, please?
"""
FIGURES = """
Hoy es {z}. | Today is {z}.
Fecha: {z} | Date: {z}
El plazo termina el {z}. | The deadline is {z}.
La factura es del {z}. | The invoice is from {z}.
Nació el {z}. | He was born on {z}.
Estaremos de vacaciones del {z} al {z2}. | We will be on vacation from {z} to {z2}.
El contrato del {z} sigue en vigor. | The contract of {z} is still in force.
La reunión del {z} se ha cancelado. | The meeting on {z} has been canceled.
Hace {b} grados. | It's {b} degrees.
Hoy hace {b} grados en {c}. | It's {b} degrees in {c} today.
La temperatura es de {b} grados. | The temperature is {b} degrees.
La temperatura bajó a {b} grados. | The temperature dropped to {b} degrees.
Anoche estábamos a {b} °C. | Last night it was {b} °C.
El agua está a {n} °C. | The water is at {n} °C.
El resultado es {b}. | The result is {b}.
El saldo es de {b} euros. | The balance is {b} euros.
El {u} de los estudiantes aprobó. | {u} of the students passed.
Los precios bajaron un {u}. | Prices fell by {u}.
Hay un descuento del {u}. | There is a discount of {u}.
El {u} de la población vive en {c}. | {u} of the population lives in {c}.
Solo el {u} de los votantes está de acuerdo. | Only {u} of the voters agree.
Dura {r} minutos. | It lasts {r} minutes.
Lee las páginas {r}. | Read pages {r}.
Los niños de {r} años no pagan. | Children aged {r} don't pay.
Añade {a} taza de azúcar. | Add {a} cup of sugar.
Necesitas {a} litro de leche. | You need {a} liter of milk.
El coche iba a {n} km/h. | The car was going {n} km/h.
La velocidad máxima es de {n} km/h. | The speed limit is {n} km/h.
Pesa {x} kg. | It weighs {x} kg.
Mide {x} m de alto. | It is {x} m tall.
Compra {n} g de queso. | Buy {n} g of cheese.
La caja mide {n} x {n2} cm. | The box measures {n} x {n2} cm.
Hay {n} km de {c} a {c2}. | It is {n} km from {c} to {c2}.
El avión sale por la puerta {X}. | The plane leaves from gate {X}.
Estoy en la habitación {X}. | I'm in room {X}.
El código del producto es {X}. | The product code is {X}.
Tome el autobús {X}. | Take bus {X}.
El modelo {X} es más barato. | The {X} model is cheaper.
Véase el capítulo {j}. | See chapter {j}.
El capítulo {j} trata de la guerra. | Chapter {j} is about the war.
{n} + {n2} | {n} + {n2}
Tel.: {k} | Tel.: {k}
{z} | {z}
"""
RULERS = """
El rey {i} vivió en {c}. | King {i} lived in {c}.
El rey {i} murió en {y}. | King {i} died in {y}.
La reina {I} nació en {y}. | Queen {I} was born in {y}.
{i} fue rey de {C}. | {i} was king of {C}.
{I} fue reina de {C}. | {I} was queen of {C}.
El reinado de {i} duró {n} años. | The reign of {i} lasted {n} years.
{i} se casó con una princesa. | {i} married a princess.
{i} era hijo de {i2}. | {i} was the son of {i2}.
{i} reinó desde {y} hasta {y2}. | {i} reigned from {y} to {y2}.
El emperador {i} perdió la guerra. | Emperor {i} lost the war.
¿Quién fue {i}? | Who was {i}?
La Segunda Guerra Mundial terminó en 1945. | World War II ended in 1945.
La Primera Guerra Mundial empezó en 1914. | World War I began in 1914.
"""
FRAMES = DATES + HOURS + AMOUNTS + SPELLED + TITLES + NAMES + GREETINGS + FIGURES + RULERS
SLOT = re.compile(r"\{(\w+)\}")


def read_frames(text: str) -> list[tuple[str, str]]:
    """Give the two sides of each line."""
    return [(es, en) for es, en in (line.split(" | ") for line in text.split("\n") if line)]


def draw_phrases(frames: str, each: int, names: Names, chance: random.Random) -> Iterator[Pair]:
    """Fill every frame as often as `each` says; one without slots once."""
    for es, en in read_frames(frames):
        for _ in range(each if SLOT.search(es) else 1):
            yield fill(es, en, names, chance)[0]


def draw_signs(each: int, names: Names, chance: random.Random) -> Iterator[Pair]:
    """Draw so many of each sign, most without a mark, as signs are, and of what machines write."""
    yield from draw_phrases(BUTTONS, each, names, chance)
    for es, en in read_frames(SIGNS):
        for number in range(each):
            pair, mark = fill(es, en, names, chance)[0], MARKS[number % len(MARKS)]
            yield Pair(source=marked(pair.source, mark), target=pair.target + mark)


def word_forms(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Give words as they are, and as they stand alone: with a capital, and with marks.

    >>> [pair.source for pair in word_forms([Pair(source="lunes", target="Monday")])]
    ['lunes', 'Lunes', 'Lunes.', '¡Lunes!', '¿Lunes?']
    """
    for pair in pairs:
        yield pair
        es, en = (side.capitalize() if side.islower() else side for side in (pair.source, pair.target))
        for mark in ("", ".", "!", "?"):
            yield Pair(source=marked(es, mark), target=en + mark)


def marked(text: str, mark: str) -> str:
    """Put a mark behind a Spanish text, and one before it where there are two.

    >>> marked("Peligro", "!")
    '¡Peligro!'
    """
    return {"!": "¡", "?": "¿"}.get(mark, "") + text + mark


def fill(es: str, en: str, names: Names, chance: random.Random) -> tuple[Pair, dict[str, tuple[str, str]]]:
    """Fill the slots of a frame; give what was put into each too."""
    drawn = draw_slots(dict.fromkeys(SLOT.findall(es)), names, chance)
    source = with_right_and(es.format(**{slot: value[0] for slot, value in drawn.items()}))
    target = en.format(**{slot: value[1] for slot, value in drawn.items()})
    return Pair(source=_begin_large(source), target=_begin_large(target)), drawn


def _begin_large(text: str) -> str:
    return text[:1].upper() + text[1:] if re.search(r"[.?!:,]$", text) else text
