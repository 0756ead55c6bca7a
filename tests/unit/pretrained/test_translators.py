"""The translators that come with the package, on sentences of our own, as users get them."""

#: A sentence, and what its translation must hold: words, or a choice of them.
SENTENCES = {
    "es-en": [
        ("¿Me puedes traer un tenedor?", "bring me a fork"),
        ("Hace mucho frío hoy.", "cold today"),
        ("No sé dónde están mis llaves.", "where my keys are"),
        ("Mi hermana quiere aprender a tocar el piano.", "sister wants to learn (how )?to play the piano"),
    ],
    "en-es": [
        ("I don't know where my keys are.", "dónde están mis llaves"),
        ("It is very cold today.", "frío"),
        ("Where is the train station?", "estación de tren"),
        ("My sister wants to learn to play the piano.", "hermana quiere aprender a tocar el piano"),
    ],
}
