import { addressCode } from "./addresses.ts";
import { type ChosenStep, nameOf, selectorOf, startOf, type Written } from "./chosen.ts";
import {
  helpersFor,
  type SessionStep,
  stepsAfterStart,
  type TabCall,
  type TabHelpers,
} from "./session-tabs.ts";

/** Texts, numbers and lists are written alike in JSON and Python. */
const python = (value: unknown): string => JSON.stringify(value);

const encoded = (variable: string): string => `quote(os.environ[${python(variable)}], safe="")`;

function tabLine(call: TabCall): string {
  if (call.op === "new")
    return `session.tab(op="new"${call.url === null ? "" : `, url=${python(call.url)}`})`;
  if (call.op === "select") return `session.tab(op="select", index=${call.index})`;
  if (call.op === "opened") return `opened(session, ${call.count})`;
  return `closed(session, ${call.index}, ${call.count})`;
}

const HELPERS: TabHelpers = {
  opened: `def opened(session, count):
    """Waits until the page has opened its tab."""
    for _ in range(100):
        if len(session.tabs()["result"]) >= count:
            return
        session.wait(seconds=0.1)

`,
  closed: `def closed(session, index, count):
    """A tab may close by itself; otherwise it is closed here."""
    for _ in range(50):
        if len(session.tabs()["result"]) < count:
            return
        session.wait(seconds=0.1)
    session.tab(op="close", index=index)

`,
};

/** The steps as a program of the Python client; secrets come from its environment. */
export function toPython(steps: readonly ChosenStep[]): Written<string> {
  const { starts_at } = startOf(steps);
  const notes: string[] = [];
  const all = stepsAfterStart(steps);
  const lines = all.flatMap((one) =>
    [...one.before.map(tabLine), pythonCall(one, notes), ...one.after.map(tabLine)].map(
      (line) => `    ${line}`,
    ),
  );
  const [first] = steps;
  const opened = first?.kind === "navigate" ? `{"url": ${addressCode(first, encoded)}}` : "{}";
  const reads = steps.some((step) => step.kind === "navigate" && step.secrets?.length);
  const body = [
    "import os",
    ...(reads ? ["from urllib.parse import quote"] : []),
    "from flotilla import create_client",
    "",
    ...helpersFor(all, HELPERS),
    'hub = create_client("http://localhost:8000", token=os.environ.get("HUB_TOKEN"))',
    `with hub.sessions.open(${opened}) as session:`,
    ...(lines.length > 0 ? lines : ["    pass"]),
    "",
  ].join("\n");
  return { starts_at, body, notes };
}

function pythonCall({ step, popup }: SessionStep, notes: string[]): string {
  const call = (name: string, args: Record<string, unknown>) => {
    const given = Object.entries(args).filter(([, value]) => value !== undefined);
    return `session.${name}(${given.map(([key, value]) => `${key}=${python(value)}`).join(", ")})`;
  };
  if (step.kind === "navigate") return `session.navigate(url=${addressCode(step, encoded)})`;
  if (step.kind === "scroll") return call("scroll", { amount: step.amount });
  const at = { selector: selectorOf(step), frame: step.frame.length > 0 ? step.frame : undefined };
  switch (step.kind) {
    case "click":
      return call("click", {
        ...at,
        click_count: step.click_count > 1 ? step.click_count : undefined,
        wait_for: popup ? "popup" : undefined,
      });
    case "fill":
      if (step.secret === null) return call("fill", { ...at, text: step.text });
      return `${call("fill", at).slice(0, -1)}, text=os.environ[${python(step.secret.variable)}])`;
    case "select_option":
      return call("select_option", { ...at, values: step.values });
    case "check":
    case "uncheck":
      return call(step.kind, at);
    case "press":
      return call("press", { ...at, key: step.key });
    case "upload":
      notes.push(`Put the content of the files for “${nameOf(step)}” into the program.`);
      return call("set_input_files", {
        ...at,
        files: step.files.map((name) => ({ name, content_base64: "" })),
      });
  }
}
