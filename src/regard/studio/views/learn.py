"""The view Learn: the alignment of a few sentences at each validation of a run, and a run to watch from its start."""

from typing import Any

from fastapi import APIRouter

from regard.errors import ArgumentError
from regard.studio.models import Models
from regard.studio.preparing import SYSTEM
from regard.studio.schema.compare import CurveRequest, RunState
from regard.studio.schema.learn import AlignedSample, Frame, FramesAnswer, TrainAnswer
from regard.studio.schema.parts import EmptyRequest
from regard.studio.views.compare_curves import read_portion, run_folders, state_of
from regard.training.metrics import is_number, read_report
from regard.training.run_folder import RunFolder


def router(models: Models) -> APIRouter:
    """Give the view's verbs."""
    made = APIRouter(prefix="/learn")

    @made.post("/frames")
    def frames(body: CurveRequest) -> FramesAnswer:
        folders = run_folders(models)
        if body.run not in folders:
            known = f"Known: {', '.join(folders)}" if folders else "None is"
            raise ArgumentError(
                f'`run` must be one that the studio was started with; received "{body.run[:80]}". {known}.'
            )
        return read_frames(state_of(body.run, folders[body.run]), folders[body.run], body.offset, body.file)

    @made.post("/train")
    def train(body: EmptyRequest) -> TrainAnswer:
        return TrainAnswer(run=SYSTEM, trained=models.train_one())

    return made


def read_frames(run: RunState, folder: RunFolder, offset: int, file: str) -> FramesAnswer:
    """Read the validations that were written after `offset`."""
    portion = read_portion(folder.metrics, offset, file)
    reports = [read_report(line.decode("utf-8", errors="replace")) for line in portion.lines]
    return FramesAnswer(
        **run.parts(),
        frames=[_frame(line) for line in reports if line.get("event") == "valid"],
        offset=portion.offset,
        file=portion.file,
        anew=portion.anew,
        more=portion.more,
    )


def _frame(line: dict[str, Any]) -> Frame:
    samples = [(item, item.get("alignment") or item.get("looks")) for item in line["samples"]]
    return Frame(
        step=int(line.get("step", 0)),
        loss=line["loss"] if is_number(line.get("loss")) else None,
        bleu=line["bleu"] if is_number(line.get("bleu")) else None,
        samples=[
            AlignedSample(
                source=item["source"],
                reference=item["reference"],
                hypothesis=item["hypothesis"],
                source_tokens=[str(token) for token in table["source"]],
                target_tokens=[str(token) for token in table["target"]],
                weights=table["weights"],
            )
            for item, table in samples
            if table is not None
        ],
    )
