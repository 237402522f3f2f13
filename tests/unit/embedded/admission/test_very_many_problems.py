"""Of very much that is wrong with an object only so much is kept as is told."""

from stowplan.embedded.admission.validation.field import Field, Problems
from stowplan.embedded.objects.errors import MOST_CAUSES


def test_no_more_complaints_are_kept_than_are_told() -> None:
    problems = Problems()
    for number in range(2 * MOST_CAUSES):
        Field(problems, f"field{number}", None).required()
    assert [cause.field for cause in problems.causes] == [f"field{number}" for number in range(MOST_CAUSES)]
