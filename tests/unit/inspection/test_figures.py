from itertools import pairwise
from pathlib import Path

import pytest
import torch
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from torch import Tensor

from regard import Causal, Padding
from regard.errors import ArgumentError
from regard.inspection import alignment_lines, figure_of, head_grid, heatmap, image_overlay, record
from regard.inspection.drawing.figures import OVERLAY, WEIGHTS, draw_heatmap
from regard.inspection.drawing.panels import panels
from regard.layers import MultiHeadAttention, SelfAttention


def some_weights(*shape: int) -> Tensor:
    return torch.randn(*shape).softmax(-1)


def first(figure: Figure) -> Axes:
    """Lay the figure out, as drawing does, and give its first panel; without need of the layout, `axes[0]` will do."""
    figure.draw_without_rendering()
    return figure.axes[0]


def mesh_of(axes: Axes) -> QuadMesh:
    return next(each for each in axes.collections if isinstance(each, QuadMesh))


def written(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_gid() == "number" and text.get_visible()]


def sums(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_text().startswith("Σ")]


# Honesty


@pytest.mark.parametrize("top", [0.02, 1.0])
def test_the_color_scale_does_not_follow_the_numbers(top: float) -> None:
    axes = heatmap(torch.tensor([[0.0, top]])).axes[0]
    assert mesh_of(axes).get_clim() == (0.0, 1.0)


def test_numbers_the_scale_cannot_show_are_an_error() -> None:
    message = r"`weights` must lie within the color scale, 0 to 1; received numbers from -2 to 5. Scores and other"
    with pytest.raises(ArgumentError, match=message):
        heatmap(torch.tensor([[-2.0, 5.0]]))
    with pytest.raises(ArgumentError, match="received numbers from nan to nan"):
        heatmap(torch.tensor([[float("nan"), 0.5]]))
    assert mesh_of(heatmap(torch.tensor([[-2.0, 5.0]]), limits=(-5, 5)).axes[0]).get_clim() == (-5, 5)


def test_masked_cells_are_hatched_and_have_no_number() -> None:
    weights = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    axes = first(heatmap(weights, mask=Causal()))
    hatched = [each for each in axes.collections if isinstance(each, PolyCollection) and each.get_hatch()]
    assert [len(each.get_paths()) for each in hatched] == [1]
    assert mesh_of(axes).get_array().mask.tolist() == [[False, True], [False, False]]
    assert written(axes) == ["1.00", "0.50", "0.50"]
    bare = first(heatmap(weights))
    assert not [each for each in bare.collections if isinstance(each, PolyCollection) and each.get_hatch()]
    assert written(bare)[1] == "0"


def test_numbers_are_those_of_the_tensor() -> None:
    axes = first(heatmap(torch.tensor([[0.0, 0.001, 0.254, 0.744]])))
    assert written(axes) == ["0", "0.00", "0.25", "0.74"]
    axes = first(heatmap(torch.tensor([[-0.001, -1.5, 2.0]]), limits=(-2, 2)))
    assert written(axes) == ["0.00", "−1.50", "2.00"]
    assert written(first(heatmap(torch.tensor([[-2, 1]]), limits=(-2, 2)))) == ["−2", "1"]


def test_rows_that_do_not_sum_to_one_say_so() -> None:
    assert sums(heatmap(torch.tensor([[0.5, 0.25], [0.5, 0.5]])).axes[0]) == ["Σ 0.75", "Σ 1.00"]
    assert sums(heatmap(some_weights(3, 4)).axes[0]) == []
    assert sums(heatmap(torch.full((2, 2), 0.5), mask=Causal()).axes[0]) == ["Σ 0.50", "Σ 1.00"]
    assert sums(heatmap(torch.tensor([[1.0, 3.0]]), limits=(0, 3)).axes[0]) == []


def test_colors_grow_darker_so_that_gray_print_and_color_blind_eyes_see_the_order() -> None:
    shades = [WEIGHTS(step / 50)[:3] for step in range(51)]
    light = [0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in shades]
    assert all(before > after for before, after in pairwise(light))
    assert shades[0] == (1.0, 1.0, 1.0)
    assert OVERLAY(0.0)[3] == 0.0


# Labels


def shown(axes: Axes, axis: str) -> list:
    labels = axes.get_xticklabels() if axis == "x" else axes.get_yticklabels()
    return [label for label in labels if label.get_text()]


@pytest.mark.parametrize("shape", [(5, 2), (20, 9), (9, 20), (150, 60), (9, 150)])
@pytest.mark.parametrize("word", ["a", "word", "incomprehensibilities"])
def test_labels_never_overlap(shape: tuple[int, int], word: str) -> None:
    queries, keys = ([f"{word}{place}" for place in range(count)] for count in shape)
    axes = first(heatmap(some_weights(*shape), query_labels=queries, key_labels=keys))
    columns, rows = shown(axes, "x"), shown(axes, "y")
    assert columns
    assert rows
    for above, below in pairwise(rows):
        assert above.get_window_extent().y0 >= below.get_window_extent().y1 - 1
    places = [label.get_transform().transform(label.get_position())[0] for label in columns]
    gap = min(after - before for before, after in pairwise(places))
    for label in columns:
        match label.get_rotation():
            case 0:
                assert label.get_window_extent().width <= gap
            case angle:  # lines of slanted text stand gap · sin(angle) apart
                height = label.get_fontsize() * label.figure.dpi / 72
                assert height <= gap * {45: 0.75, 90: 1.0}[angle] + 1


def test_words_turn_before_any_is_left_out() -> None:
    words = [f"incomprehensible{place}" for place in range(12)]
    axes = first(heatmap(some_weights(12, 12), query_labels=words, key_labels=words))
    assert [label.get_text() for label in shown(axes, "x")] == words
    assert {label.get_rotation() for label in shown(axes, "x")} == {45.0}


def test_places_are_numbered_where_nobody_names_them() -> None:
    axes = first(heatmap(some_weights(2, 3)))
    assert [label.get_text() for label in shown(axes, "x")] == ["0", "1", "2"]
    assert [label.get_text() for label in shown(axes, "y")] == ["0", "1"]


def test_a_dollar_sign_is_no_formula() -> None:
    words = ["$5", "$x^2$"]
    axes = first(heatmap(torch.eye(2), query_labels=words, key_labels=words))
    assert [label.get_text() for label in shown(axes, "x")] == words
    assert not any(label.get_parse_math() for label in shown(axes, "x"))


def test_long_titles_are_wrapped() -> None:
    figure, axes = panels(1, 2, titles=["a title that is much too long for one panel of this size, is it not", "b"])
    for each in axes:
        draw_heatmap(each, some_weights(4, 4))
    figure.draw_without_rendering()
    assert "\n" in axes[0].get_title()
    assert axes[0].title.get_window_extent().x1 <= axes[1].title.get_window_extent().x0


def test_numbers_that_have_no_room_are_left_out() -> None:
    figure, [axes] = panels(size=(1.2, 1.2))
    draw_heatmap(axes, some_weights(12, 12))
    figure.draw_without_rendering()
    assert written(axes) == []


# Mistakes


def test_labels_must_fit() -> None:
    with pytest.raises(ArgumentError, match="`key_labels` must name 3 positions; received 2"):
        heatmap(some_weights(2, 3), key_labels=["a", "b"])
    with pytest.raises(ArgumentError, match="`query_labels` must name 2 positions; received one string"):
        heatmap(some_weights(2, 3), query_labels="ab")


@pytest.mark.usefixtures("unchecked")
def test_shapes_must_fit() -> None:
    with pytest.raises(ArgumentError, match=r"`mask` must broadcast to \(query, key\) = \(2, 3\); received \(5, 5\)"):
        heatmap(some_weights(2, 3), mask=torch.ones(5, 5, dtype=torch.bool))
    with pytest.raises(ArgumentError, match=r"one row and one column; received shape \(1, 2, 3\). One head of one"):
        heatmap(some_weights(1, 2, 3))
    with pytest.raises(ArgumentError, match=r"received shape \(2, 0\)"):
        heatmap(torch.zeros(2, 0))
    with pytest.raises(ArgumentError, match=r"\(heads, query, key\), with one head or more; received \(2, 3\)"):
        head_grid(some_weights(2, 3))


# The kinds


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_takes_tensors_as_layers_give_them(dtype: torch.dtype) -> None:
    heatmap(some_weights(2, 3).to(dtype).requires_grad_())


def test_a_grid_has_a_panel_per_head_and_one_scale() -> None:
    figure = head_grid(some_weights(3, 3, 4), title="three", columns=2)
    figure.draw_without_rendering()
    maps = [axes for axes in figure.axes if axes.get_visible() and axes.get_title().startswith("head")]
    assert [axes.get_title() for axes in maps] == [f"head {head}" for head in range(3)]
    assert {mesh_of(axes).get_clim() for axes in maps} == {(0.0, 1.0)}
    assert sum(axes.get_visible() for axes in figure.axes) == 4  # and the color bar


def test_heads_may_have_masks_of_their_own() -> None:
    mask = torch.stack([torch.ones(2, 2, dtype=torch.bool), Causal().dense((2, 2))])
    figure = head_grid(torch.full((2, 2, 2), 0.5), mask=mask)
    hatched = [any(each.get_hatch() for each in axes.collections) for axes in figure.axes[:2]]
    assert hatched == [False, True]


def test_lines_are_as_strong_as_the_weights() -> None:
    axes = first(alignment_lines(torch.tensor([[0.9, 0.1], [0.995, 0.005]]), query_labels=["la", "casa"]))
    lines = [patch for patch in axes.patches if isinstance(patch, PathPatch)]
    assert [round(line.get_alpha(), 3) for line in lines] == [0.9, 0.1, 0.995]
    assert lines[0].get_linewidth() > lines[1].get_linewidth()
    assert {"la", "casa", "0", "1", "query", "key"} == {text.get_text() for text in axes.texts}


def test_an_overlay_lies_on_the_image() -> None:
    weights = some_weights(12).view(3, 4)
    figure = image_overlay(torch.rand(3, 24, 32), weights, title="red")
    under, over = first(figure).images
    assert under.get_extent() == over.get_extent() == [0, 32, 24, 0]
    assert over.get_clim() == (0, pytest.approx(float(weights.max())))
    assert first(image_overlay(torch.rand(24, 32), weights, limit=1.0)).images[1].get_clim() == (0, 1)


def test_draws_a_recorded_call() -> None:
    layer = MultiHeadAttention(8, 2)
    words = [["a", "b", "c"], ["d"]]
    with record(layer, query_labels=words, key_labels=words) as trace:
        layer(torch.randn(2, 3, 8), mask=Causal() & Padding(torch.tensor([3, 1])))
    figure = figure_of(trace[0])
    figure.draw_without_rendering()
    assert [label.get_text() for label in shown(figure.axes[0], "x")] == ["a", "b", "c"]
    assert figure.get_suptitle() == "MultiHeadAttention, step 0"
    assert figure_of(trace[0], title="all steps").get_suptitle() == "all steps"
    second = figure_of(trace[0], example=1)
    assert [label.get_text() for label in shown(second.axes[0], "x")] == ["d"]
    single = SelfAttention()
    with record(single) as trace:
        single(torch.randn(2, 3, 8))
    assert mesh_of(figure_of(trace[0], example=1).axes[0]).get_array().shape == (3, 3)


# Manners


def test_drawing_twice_gives_the_same(tmp_path: Path) -> None:
    words = [f"incomprehensible{place}" for place in range(6)]
    figure = heatmap(some_weights(6, 6), query_labels=words, key_labels=words, title="a long title " * 8)
    for name in ("a.png", "b.png"):
        figure.savefig(tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_global_settings_stay_as_they_are() -> None:
    before = dict(rcParams)
    first(head_grid(some_weights(2, 3, 3), title="x"))
    assert dict(rcParams) == before


def test_an_unknown_name_is_an_attribute_error() -> None:
    import regard.inspection

    with pytest.raises(AttributeError, match=r"module 'regard\.inspection' has no attribute 'heatmaps'"):
        regard.inspection.heatmaps  # noqa: B018
