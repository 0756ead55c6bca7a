"""The studio: a local page that shows what models attend to. `regard studio` serves it.

Each view is a file here with its verbs, `router(models)`, and one in `web/src/views`; `static/` is built from `web/`.
"""
