/** How an action of the API reads in a list: `Click #buy`, `Go to /cart`. */

type Arguments = Record<string, unknown> | undefined;

const VERBS: Record<string, string> = {
  click: "Click",
  dblclick: "Double-click",
  fill: "Fill",
  type: "Type into",
  press: "Press",
  key: "Press",
  select: "Choose in",
  check: "Tick",
  uncheck: "Untick",
  hover: "Point at",
  goto: "Go to",
  navigate: "Go to",
  open: "Go to",
  wait_for: "Wait for",
  wait: "Wait for",
  text: "Read",
  html: "Read",
  evaluate: "Run in the page",
  screenshot: "Take a screenshot",
  scroll: "Scroll",
  upload: "Give files to",
  drag: "Drag",
};

const sentence = (name: string): string => {
  const words = name.replaceAll(/[_.]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
};

const ROLE = /^(?:internal:)?role=([a-z]+)\s*(?:\[name=["'](.+?)["']i?\])?/;
const SAID = /^(?:internal:)?(?:text|label|placeholder|alt|title)=["']?(.+?)["']?i?$/;

/** The element that a selector means, as a person would name it: `button “Add to basket”`; else the selector. */
export function elementText(selector: string): string {
  const role = ROLE.exec(selector);
  if (role) return role[2] ? `${role[1]} “${role[2]}”` : String(role[1]);
  const said = SAID.exec(selector)?.[1];
  return said === undefined ? selector : `“${said}”`;
}

const textOf = (value: unknown): string | null =>
  typeof value === "string" && value !== "" ? value : null;

/** What an action touched, as far as its arguments say it. */
export function targetOf(given: Arguments): string {
  const [role, name] = [textOf(given?.role), textOf(given?.name)];
  if (role !== null) return name === null ? role : `${role} “${name}”`;
  const selector = textOf(given?.selector) ?? textOf(given?.locator);
  return selector === null ? "" : elementText(selector);
}

const addressOf = (url: string): string => {
  if (!URL.canParse(url)) return url;
  const { pathname, search } = new URL(url);
  return pathname + search;
};

/** An action with what it was about. */
export function actionTitle(name: string, given: Arguments): string {
  const verb = VERBS[name] ?? sentence(name);
  const url = textOf(given?.url);
  const what = targetOf(given) || (url === null ? (textOf(given?.key) ?? "") : addressOf(url));
  const value = textOf(given?.value) ?? textOf(given?.text);
  return [verb, what && ` ${what}`, value && what && `: ${value}`].filter(Boolean).join("");
}

/** Which picture stands before it. */
export type ActKind = "point" | "type" | "key" | "go" | "wait" | "choose" | "say" | "other";

const KINDS: readonly [RegExp, ActKind][] = [
  [/^(click|dblclick|hover|drag|check|uncheck)/i, "point"],
  [/^(fill|type|upload)/i, "type"],
  [/^(press|key)/i, "key"],
  [/^(goto|go to|navigate|open|reload|back)/i, "go"],
  [/^(wait|sleep)/i, "wait"],
  [/^(select|choose)/i, "choose"],
  [/^(answer|done|say)/i, "say"],
];

export const kindOf = (name: string): ActKind =>
  KINDS.find(([begins]) => begins.test(name))?.[1] ?? "other";
