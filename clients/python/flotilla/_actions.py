from __future__ import annotations

from typing import Any, List, Mapping

from ._http import Json


class Actions:
    """One method per action; names and arguments are Playwright's. Each takes ``timeout_s``, and ``frame`` where it goes to
    elements (the selector of an iframe, or a list of them from outside in). The answer's ``result`` is the action's.
    """

    def act(self, action: str, args: Mapping[str, Any]) -> Json:
        raise NotImplementedError

    def navigate(self, url: str, **args: Any) -> Json:
        """Go to a URL."""
        return self.act("navigate", {**args, "url": url})

    def click(self, **args: Any) -> Json:
        """Click an element, or a point of the page."""
        return self.act("click", args)

    def fill(self, selector: str, text: str, **args: Any) -> Json:
        """Set the text of a field."""
        return self.act("fill", {**args, "selector": selector, "text": text})

    def type(self, text: str, **args: Any) -> Json:
        """Send keys, one by one."""
        return self.act("type", {**args, "text": text})

    def press(self, key: str, **args: Any) -> Json:
        """Press one key or a combination."""
        return self.act("press", {**args, "key": key})

    def hover(self, selector: str, **args: Any) -> Json:
        """Move the pointer over an element."""
        return self.act("hover", {**args, "selector": selector})

    def drag_and_drop(self, source: str, target: str, **args: Any) -> Json:
        """Drag one element onto another."""
        return self.act("drag_and_drop", {**args, "source": source, "target": target})

    def mouse(self, **args: Any) -> Json:
        """Move the pointer, press or release a button."""
        return self.act("mouse", args)

    def select_option(self, selector: str, values: List[str], **args: Any) -> Json:
        """Select options of a list."""
        return self.act("select_option", {**args, "selector": selector, "values": values})

    def check(self, selector: str, **args: Any) -> Json:
        """Tick a checkbox."""
        return self.act("check", {**args, "selector": selector})

    def uncheck(self, selector: str, **args: Any) -> Json:
        """Untick a checkbox."""
        return self.act("uncheck", {**args, "selector": selector})

    def scroll(self, **args: Any) -> Json:
        """Scroll by pixels, or to an element."""
        return self.act("scroll", args)

    def wait(self, **args: Any) -> Json:
        """Wait for an element, a load state or a time."""
        return self.act("wait", args)

    def evaluate(self, code: str, **args: Any) -> Json:
        """Run JavaScript in the page."""
        return self.act("evaluate", {**args, "code": code})

    def set_input_files(self, selector: str, files: List[Json], **args: Any) -> Json:
        """Give files to an input."""
        return self.act("set_input_files", {**args, "selector": selector, "files": files})

    def screenshot(self, **args: Any) -> Json:
        """Take a picture of the page or an element."""
        return self.act("screenshot", args)

    def pdf(self, **args: Any) -> Json:
        """Print the page (headless sessions)."""
        return self.act("pdf", args)

    def content(self, **args: Any) -> Json:
        """Read the HTML."""
        return self.act("content", args)

    def text(self, **args: Any) -> Json:
        """Read the visible text."""
        return self.act("text", args)

    def markdown(self, **args: Any) -> Json:
        """Read the page as Markdown."""
        return self.act("markdown", args)

    def links(self, **args: Any) -> Json:
        """List the links."""
        return self.act("links", args)

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
        return self.act("tab", {**args, "op": op})

    def dialogs(self, **args: Any) -> Json:
        """List the dialogs that pages have opened."""
        return self.act("dialogs", args)

    def dialog(self, op: str, **args: Any) -> Json:
        """Accept or dismiss a dialog."""
        return self.act("dialog", {**args, "op": op})

    def downloads(self, **args: Any) -> Json:
        """List what the browser downloaded."""
        return self.act("downloads", args)

    def read_download(self, name: str, **args: Any) -> Json:
        """Read a downloaded file, once it is whole."""
        return self.act("read_download", {**args, "name": name})

    def keepalive(self, **args: Any) -> Json:
        """Count as activity; may set the idle TTL."""
        return self.act("keepalive", args)

    def recipe(self, actions: List[Json], **args: Any) -> Json:
        """Run the actions of a recipe."""
        return self.act("recipe", {**args, "actions": actions})

    def ask(self, prompt: str, **args: Any) -> Json:
        """Ask an engine about the page."""
        return self.act("ask", {**args, "prompt": prompt})

    def agent(self, goal: str, **args: Any) -> Json:
        """Let an engine work towards a goal, step by step."""
        return self.act("agent", {**args, "goal": goal})


ACTIONS = tuple(name for name in vars(Actions) if not name.startswith("_") and name != "act")
