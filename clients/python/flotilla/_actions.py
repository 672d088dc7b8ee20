# Written by `bun run gen` from the table of actions that the hub judges them by.
from __future__ import annotations

from typing import Any, List, Mapping, Optional

from ._http import Json

#: What the hub takes for an action that names no timeout.
ACTION_TIMEOUT_S = 30.0
ACTION_TIMEOUTS_S = {"ask": 120.0, "agent": 600.0}

#: Left out; None is JSON's null.
UNSET: Any = object()


def _given(args: Mapping[str, Any], **named: Any) -> Json:
    return {**args, **{name: value for name, value in named.items() if value is not UNSET}}


class Actions:
    """One method per action; names and arguments are Playwright's. Each takes ``timeout_s``, and ``frame`` where it goes to
    elements (the selector of an iframe, or a list of them from outside in). The answer's ``result`` is the action's.
    """

    def act(self, action: str, args: Mapping[str, Any]) -> Json:
        raise NotImplementedError

    def navigate(self, url: str, **args: Any) -> Json:
        """Go to a URL."""
        return self.act("navigate", _given(args, url=url))

    def click(self, **args: Any) -> Json:
        """Click an element, or a point of the page."""
        return self.act("click", args)

    def fill(self, selector: str, text: str, **args: Any) -> Json:
        """Set the text of a field."""
        return self.act("fill", _given(args, selector=selector, text=text))

    def type(self, text: str, **args: Any) -> Json:
        """Send keys, one by one."""
        return self.act("type", _given(args, text=text))

    def press(self, key: str, **args: Any) -> Json:
        """Press one key or a combination."""
        return self.act("press", _given(args, key=key))

    def hover(self, selector: str, **args: Any) -> Json:
        """Move the pointer over an element."""
        return self.act("hover", _given(args, selector=selector))

    def drag_and_drop(self, source: str, target: str, **args: Any) -> Json:
        """Drag one element onto another."""
        return self.act("drag_and_drop", _given(args, source=source, target=target))

    def mouse(self, op: str, x: Optional[float] = UNSET, y: Optional[float] = UNSET, **args: Any) -> Json:
        """Move the pointer, press or release a button."""
        return self.act("mouse", _given(args, op=op, x=x, y=y))

    def select_option(self, selector: str, values: List[str], **args: Any) -> Json:
        """Select options of a list."""
        return self.act("select_option", _given(args, selector=selector, values=values))

    def check(self, selector: str, **args: Any) -> Json:
        """Tick a checkbox."""
        return self.act("check", _given(args, selector=selector))

    def uncheck(self, selector: str, **args: Any) -> Json:
        """Untick a checkbox."""
        return self.act("uncheck", _given(args, selector=selector))

    def scroll(self, **args: Any) -> Json:
        """Scroll by pixels, or to an element."""
        return self.act("scroll", args)

    def wait(self, **args: Any) -> Json:
        """Wait for an element, a load state or a length of time."""
        return self.act("wait", args)

    def evaluate(self, code: str, arg: Optional[Any] = UNSET, **args: Any) -> Json:
        """Run JavaScript in the page."""
        return self.act("evaluate", _given(args, code=code, arg=arg))

    def set_input_files(self, selector: str, files: List[Json], **args: Any) -> Json:
        """Give files to an input."""
        return self.act("set_input_files", _given(args, selector=selector, files=files))

    def screenshot(self, **args: Any) -> Json:
        """Take a screenshot of the page or an element."""
        return self.act("screenshot", args)

    def pdf(self, **args: Any) -> Json:
        """Print the page (headless sessions)."""
        return self.act("pdf", args)

    def aria_snapshot(self, **args: Any) -> Json:
        """Read the accessibility tree, with references to its elements."""
        return self.act("aria_snapshot", args)

    def content(self, **args: Any) -> Json:
        """Read the HTML."""
        return self.act("content", args)

    def text(self, selector: Optional[str] = UNSET, **args: Any) -> Json:
        """Read the visible text."""
        return self.act("text", _given(args, selector=selector))

    def markdown(self, selector: Optional[str] = UNSET, **args: Any) -> Json:
        """Read the page as Markdown."""
        return self.act("markdown", _given(args, selector=selector))

    def links(self, **args: Any) -> Json:
        """List the links."""
        return self.act("links", args)

    def pick(self, **args: Any) -> Json:
        """Say what is at a point of the picture, and how to select it."""
        return self.act("pick", args)

    def back(self, **args: Any) -> Json:
        """Go back."""
        return self.act("back", args)

    def forward(self, **args: Any) -> Json:
        """Go forward."""
        return self.act("forward", args)

    def reload(self, **args: Any) -> Json:
        """Reload."""
        return self.act("reload", args)

    def tabs(self, **args: Any) -> Json:
        """List the tabs."""
        return self.act("tabs", args)

    def tab(self, op: str, **args: Any) -> Json:
        """Open, close or select a tab."""
        return self.act("tab", _given(args, op=op))

    def dialogs(self, **args: Any) -> Json:
        """List the dialogs that pages have opened."""
        return self.act("dialogs", args)

    def dialog(self, op: str, prompt_text: Optional[str] = UNSET, **args: Any) -> Json:
        """Accept or dismiss a dialog."""
        return self.act("dialog", _given(args, op=op, prompt_text=prompt_text))

    def downloads(self, **args: Any) -> Json:
        """List what the browser downloaded."""
        return self.act("downloads", args)

    def read_download(self, name: Optional[str] = UNSET, **args: Any) -> Json:
        """Read a downloaded file, once it is complete."""
        return self.act("read_download", _given(args, name=name))

    def keepalive(self, idle_ttl_s: Optional[int] = UNSET, **args: Any) -> Json:
        """Count as activity; can set the idle TTL."""
        return self.act("keepalive", _given(args, idle_ttl_s=idle_ttl_s))

    def recipe(self, actions: List[Any], **args: Any) -> Json:
        """Run the actions of a recipe."""
        return self.act("recipe", _given(args, actions=actions))

    def ask(self, prompt: str, **args: Any) -> Json:
        """Ask an engine about the page."""
        return self.act("ask", _given(args, prompt=prompt))

    def agent(self, goal: str, **args: Any) -> Json:
        """Let an engine work towards a goal, step by step."""
        return self.act("agent", _given(args, goal=goal))


ACTIONS = tuple(name for name in vars(Actions) if not name.startswith("_") and name != "act")
