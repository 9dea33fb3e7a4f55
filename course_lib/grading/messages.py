"""What a kernel's messages must look like before anyone reads them: the learner's code can make it send anything."""

from typing import Any

__all__ = ["check_form"]


def check_form(message: dict[str, Any]) -> None:
    """Assert what readers of a message rely on."""
    content = message["content"]
    assert isinstance(content, dict)
    assert isinstance(message["parent_header"], dict)
    match message["msg_type"]:
        case "stream":
            assert isinstance(content["name"], str)
            assert isinstance(content["text"], str)
        case "status":
            assert isinstance(content["execution_state"], str)
        case "display_data" | "execute_result":
            assert isinstance(content["data"], dict)
            assert isinstance(content["metadata"], dict)
            assert message["msg_type"] == "display_data" or "execution_count" in content
        case "error":
            assert isinstance(content["ename"], str)
            assert isinstance(content["evalue"], str)
            assert all(isinstance(line, str) for line in content["traceback"])
