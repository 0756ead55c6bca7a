"""The verb of Share that a browser cannot do by itself: a PDF with embedded fonts."""

import base64

from fastapi import APIRouter

from regard.studio.models import Models
from regard.studio.paper import paper
from regard.studio.schema.share import PaperAnswer, PictureFile


def router(models: Models) -> APIRouter:
    """Give the verb; it needs no model."""
    made = APIRouter(prefix="/share")

    @made.post("/pdf")
    def pdf(body: PictureFile) -> PaperAnswer:
        return PaperAnswer(pdf=base64.b64encode(paper(body)).decode("ascii"))

    return made
