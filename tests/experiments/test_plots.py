"""The pictures are whole SVG documents that show every figure in its place, for any rows, and run nothing."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.experiments import experiment, lab
from agentmem.experiments.plot import Panel, Series, page

SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ElementTree.Element:
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert {element.tag for element in root.iter()} <= {
        SVG + tag for tag in ("svg", "title", "style", "rect", "path", "text", "circle")
    }
    return root


def dots(root: ElementTree.Element, role: str) -> list[tuple[float, float]]:
    """Middles of the markers of a role, the legend's first."""
    found = []
    for element in root.iter():
        if element.get("class") == f"dot {role}":
            if role == "trace":
                found.append((float(element.get("cx", "")), float(element.get("cy", ""))))
            else:
                found.append((float(element.get("x", "")) + 4, float(element.get("y", "")) + 4))
    return found


def test_the_experiment_has_a_marker_for_every_row_in_every_panel() -> None:
    rows = experiment.published_rows()
    root = parsed(experiment.plot_svg(rows))
    for role in ("trace", "state"):
        assert len(dots(root, role)) == 1 + 4 * len(experiment.WINDOWS)
    right = dots(root, "trace")[1:6]
    errors = dots(root, "trace")[6:11]
    assert [y for _, y in right] == sorted(y for _, y in right), "fewer right answers stand lower"
    assert [y for _, y in errors] == sorted((y for _, y in errors), reverse=True)


def test_a_plot_of_no_rows_or_of_three_seeds_is_refused() -> None:
    with pytest.raises(ValueError, match="one or two seed offsets"):
        experiment.plot_svg([])
    with pytest.raises(ValueError, match="there are 3"):
        experiment.plot_svg([experiment.run(200, offset) for offset in range(3)])


@pytest.mark.parametrize("iterations", [1, 2, 30, 90])
def test_the_lab_is_drawn_whole_for_any_length(iterations: int) -> None:
    found = lab.run(iterations)
    root = parsed(lab.plot_svg(found))
    lines = [e for e in root.iter() if (e.get("class") or "").startswith("line ") and "L" in (e.get("d") or "")]
    assert len(lines) == (4 if iterations > 1 else 0)
    assert all((line.get("d") or "").count("L") == iterations - 1 for line in lines)
    bands = [element for element in root.iter() if element.get("class") == "band"]
    assert len(bands) == (not found.on_goal["string"])
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert "1" in texts and str(iterations) in texts


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=20), st.lists(st.just(0.0) | st.floats(0.1, 1e9), min_size=1, max_size=12))
def test_any_text_stays_text_and_any_figure_stays_in_its_panel(text: str, values: list[float]) -> None:
    points = tuple((float(i), value) for i, value in enumerate(values))
    labels = tuple((float(i), text) for i in range(len(values)))
    root = parsed(page(text, [text], [Panel(text, text, labels, (Series(text, "trace", points),))]))
    shown = root.find(f"{SVG}title")
    assert shown is not None and len(shown.text or "") == len(text)
    height = float(root.get("height") or 0)
    assert len(dots(root, "trace")) == 1 + len(values)
    assert all(0 < y < height for _, y in dots(root, "trace"))
