"""The sliding window: a bounded number in flight, order kept, short tasks together, memory within what there is."""

from pipelines.execution.placement import ANY, Pools
from pipelines.execution.window import AHEAD, MOST_IN_BATCH, Window
from pipelines.graphs.node import Resources
from tests.pipelines.execution.squares import Squares, graph_of, squares


def window_of(chunks, slots, memory=0, **how):
    graph = graph_of(squares, Squares("nowhere"), chunks, **how)
    return graph, Window(graph.tasks, Pools({ANY: slots}), memory)


def drained(window, seconds):
    """Run everything there is in the order in which it was let through; returns the batches and the most in flight."""
    in_flight, batches, most = [], [], 0
    while window.unfinished:
        while batch := window.next_batch():
            in_flight.append(batch)
        most = max(most, len(in_flight))
        batch = in_flight.pop(0)
        batches.append([task.name for task in batch])
        window.back(batch)
        for task in batch:
            window.finished(task, seconds)
    return batches, most


def test_ten_thousand_chunks_are_never_in_flight_at_once():
    graph, window = window_of(10_000, slots=8)
    batches, most = drained(window, seconds=1.0)
    assert most == AHEAD * 8 and [name for batch in batches for name in batch] == [task.name for task in graph.tasks]
    assert {len(batch) for batch in batches} == {1}, "a task of a second travels alone"


def test_short_tasks_travel_together_and_leave_no_slot_empty():
    _, window = window_of(10_000, slots=4)
    batches, most = drained(window, seconds=0.001)
    sizes = [len(batch) for batch in batches]
    assert most <= AHEAD * 4 and max(sizes) == MOST_IN_BATCH and len(batches) < 10_000 / 30
    assert sizes[-2] == 1, "towards the end the rest is shared out over all slots"
    _, window = window_of(1_000, slots=4)
    assert max(len(batch) for batch in drained(window, seconds=0.1)[0]) == 5, "half a second of work"


def test_tasks_with_a_timeout_and_those_tried_again_travel_alone():
    assert {len(batch) for batch in drained(window_of(500, 1, timeout_s=9.0)[1], seconds=0.001)[0]} == {1}
    graph, window = window_of(100, slots=1)
    first = window.next_batch()
    window.back(first)
    window.finished(first[0], 0.001)
    batch = window.next_batch()
    assert len(batch) > 10
    window.back(batch)
    for task in batch:
        window.again(task)
    assert window.next_batch() == (graph["squares[chunk=1]"],)


def test_memory_that_nodes_ask_for_fits_into_what_there_is():
    _, window = window_of(50, slots=8, memory=10, resources=Resources(memory=4))
    assert drained(window, seconds=1.0)[1] == 2
    _, window = window_of(50, slots=8, memory=10, resources=Resources(cores=4))
    assert drained(window, seconds=1.0)[1] == AHEAD * 2, "a node of four cores takes four slots"


def test_what_is_not_of_this_run_is_not_waited_for():
    graph, _ = window_of(5, slots=1)
    window = Window([graph["total"]], Pools({ANY: 1}), 0)
    assert window.next_batch() == (graph["total"],)
