import { type ChosenStep, nameOf, selectorOf, startOf, type Written } from "./chosen.ts";

const text = (value: unknown): string => JSON.stringify(value);

/** The options of a call, where there are any: `, { frame: ["iframe"] }`. */
const options = (given: Record<string, unknown>): string => {
  const all = Object.entries(given).filter(([, value]) => value !== undefined);
  return all.length === 0
    ? ""
    : `, { ${all.map(([key, value]) => `${key}: ${text(value)}`).join(", ")} }`;
};

function callOf(step: ChosenStep, notes: string[]): string[] {
  if (step.kind === "navigate") return [`await session.navigate(${text(step.url)});`];
  if (step.kind === "scroll") return [`await session.scroll(${step.amount});`];
  if (step.kind === "tab") return [`await session.tab("select", ${step.tab});`];
  const selector = text(selectorOf(step));
  const frame = step.frame.length > 0 ? step.frame : undefined;
  switch (step.kind) {
    case "click": {
      const click_count = step.click_count > 1 ? step.click_count : undefined;
      return [`await session.click(${selector}${options({ click_count, frame })});`];
    }
    case "fill": {
      if (step.secret === null)
        return [`await session.fill(${selector}, ${text(step.text)}${options({ frame })});`];
      const action = { kind: "fill", selector: selectorOf(step), frame, text: step.text };
      return [`await session.recipe([${text(action)}]);`];
    }
    case "select_option":
      return [
        `await session.select_option(${selector}, ${text(step.values)}${options({ frame })});`,
      ];
    case "check":
    case "uncheck":
      return [`await session.${step.kind}(${selector}${options({ frame })});`];
    case "press":
      return [`await session.press(${selector}, ${text(step.key)}${options({ frame })});`];
    case "upload": {
      notes.push(`Put the content of the files for “${nameOf(step)}” into the script.`);
      const files = step.files.map((name) => ({ name, content_base64: "" }));
      return [`await session.set_input_files(${selector}, ${text(files)}${options({ frame })});`];
    }
  }
}

/** The steps as a script for jobs of mode rerun, and for skills (rules/scripts#script-module). */
export function toScript(steps: readonly ChosenStep[]): Written<string> {
  const { starts_at, rest } = startOf(steps);
  const notes: string[] = [];
  const lines = rest.flatMap((step, i) => {
    const before = i === 0 ? steps[0] : rest[i - 1];
    // What opens a tab must have opened it.
    const opens = step.kind === "tab" && step.opened_by === "page" && before?.kind === "click";
    return opens ? ["await session.wait(1);", ...callOf(step, notes)] : callOf(step, notes);
  });
  const body = `import { session } from "flotilla";\n\n${lines.join("\n")}\n`;
  return { starts_at, body, notes };
}

/** Texts, numbers and lists are written alike in both. */
const python = text;

/** The steps as a program of the Python client; secrets come from its environment. */
export function toPython(steps: readonly ChosenStep[]): Written<string> {
  const { starts_at, rest } = startOf(steps);
  const notes: string[] = [];
  const lines = rest.map((step) => `    ${pythonCall(step, notes)}`);
  const opened = starts_at === null ? "{}" : `{"url": ${text(starts_at)}}`;
  const body = [
    "import os",
    "from flotilla import create_client",
    "",
    'hub = create_client("http://localhost:8000", token=os.environ.get("HUB_TOKEN"))',
    `with hub.sessions.open(${opened}) as session:`,
    ...(lines.length > 0 ? lines : ["    pass"]),
    "",
  ].join("\n");
  return { starts_at, body, notes };
}

function pythonCall(step: ChosenStep, notes: string[]): string {
  const call = (name: string, args: Record<string, unknown>) => {
    const given = Object.entries(args).filter(([, value]) => value !== undefined);
    return `session.${name}(${given.map(([key, value]) => `${key}=${python(value)}`).join(", ")})`;
  };
  if (step.kind === "navigate") return call("navigate", { url: step.url });
  if (step.kind === "scroll") return call("scroll", { amount: step.amount });
  if (step.kind === "tab") return call("tab", { op: "select", index: step.tab });
  const at = { selector: selectorOf(step), frame: step.frame.length > 0 ? step.frame : undefined };
  switch (step.kind) {
    case "click":
      return call("click", {
        ...at,
        click_count: step.click_count > 1 ? step.click_count : undefined,
      });
    case "fill":
      if (step.secret === null) return call("fill", { ...at, text: step.text });
      return `${call("fill", at).slice(0, -1)}, text=os.environ[${text(step.secret.variable)}])`;
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
