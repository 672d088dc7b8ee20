import { isSessionAction } from "#shared/protocol/actions/session-actions.ts";
import { MAX_CODE_BYTES } from "#shared/protocol/limits.ts";
import { secretIn, secretTyped } from "./find-secrets.ts";
import { childrenOfNode, parseScript, type ScriptNode } from "./parse-script.ts";
import { EXPORTS, FORBIDDEN, isGlobal, meantAction } from "./script-names.ts";
import type { ScriptProblem } from "./script-run.ts";

/** Further problems would only repeat these. */
const MAX_PROBLEMS = 20;

const ROOT: ScriptNode = { type: "Program", start: 0, end: 0, loc: { start: { line: 1 } } };

/** What a walk over a script knows. */
interface Walk {
  /** Every name that is declared anywhere in it; scopes are not distinguished. */
  declared: Set<string>;
  /** Names the script has for `session`. */
  sessions: Set<string>;
  /** Names of functions that are given to `session.evaluate`. */
  page_functions: Set<string>;
  tell(node: ScriptNode, message: string | null): void;
}

/**
 * What is wrong with a script before it is run (rules/scripts#check-before-a-run): it does not parse, wants more than the module
 * `flotilla` gives, calls actions that do not exist, or holds secrets. Feedback for whoever wrote it, and no fence: that
 * is the sandbox. In the order of lines; empty when it may run.
 */
export function checkScript(code: string): ScriptProblem[] {
  if (Buffer.byteLength(code) > MAX_CODE_BYTES)
    return [{ line: null, message: `the script has more than ${MAX_CODE_BYTES} bytes` }];
  if (code.trim() === "") return [{ line: null, message: "the script is empty" }];
  const { body, errors } = parseScript(code);
  if (errors.length > 0) return errors.slice(0, MAX_PROBLEMS);
  const problems = new Map<string, ScriptProblem>();
  const sessions = sessionNames(body);
  const walk: Walk = {
    declared: new Set(body.flatMap(namesDeclaredIn)),
    sessions,
    page_functions: new Set(body.flatMap((statement) => namesEvaluated(sessions, statement))),
    tell: (node, message) => {
      if (message === null) return;
      const { line } = node.loc.start;
      problems.set(`${line} ${message}`, { line, message });
    },
  };
  // As children of one node, so that declarations are looked at like everything else.
  checkNode(walk, { ...ROOT, body });
  return [...problems.values()]
    .sort((a, b) => (a.line ?? 0) - (b.line ?? 0))
    .slice(0, MAX_PROBLEMS);
}

/** Every name bound by the node or anything in it. */
function namesDeclaredIn(node: ScriptNode): string[] {
  const own = (): string[] => {
    switch (node.type) {
      case "VariableDeclarator":
        return namesOfPattern(node.id);
      case "CatchClause":
        return node.param ? namesOfPattern(node.param) : [];
      case "ImportDefaultSpecifier":
      case "ImportNamespaceSpecifier":
      case "ImportSpecifier":
        return [node.local.name];
      default: {
        const params = Array.isArray(node.params) ? node.params.flatMap(namesOfPattern) : [];
        const named = typeof node.id?.name === "string" ? [node.id.name] : [];
        return [...params, ...named];
      }
    }
  };
  return [...own(), ...childrenOfNode(node).flatMap(({ child }) => namesDeclaredIn(child))];
}

function namesOfPattern(pattern: ScriptNode): string[] {
  switch (pattern?.type) {
    case "Identifier":
      return [pattern.name];
    case "AssignmentPattern":
      return namesOfPattern(pattern.left);
    case "RestElement":
      return namesOfPattern(pattern.argument);
    case "ArrayPattern":
      return pattern.elements.flatMap((e: ScriptNode | null) => (e ? namesOfPattern(e) : []));
    case "ObjectPattern":
      return pattern.properties.flatMap((p: ScriptNode) => namesOfPattern(p.value ?? p));
    default:
      return [];
  }
}

/** `session`, also where a function is given it, and what an import calls it. */
function sessionNames(body: ScriptNode[]): Set<string> {
  const imported = body
    .filter(({ type }) => type === "ImportDeclaration")
    .flatMap(({ specifiers }) => specifiers as ScriptNode[])
    .filter(({ imported: name }) => name?.name === "session")
    .map(({ local }) => local.name as string);
  return new Set(["session", ...imported]);
}

function namesEvaluated(sessions: Set<string>, node: ScriptNode): string[] {
  const [given] = node.type === "CallExpression" ? node.arguments : [];
  const own =
    given?.type === "Identifier" && actionOf({ sessions }, node.callee) === "evaluate"
      ? [given.name as string]
      : [];
  return [...own, ...childrenOfNode(node).flatMap(({ child }) => namesEvaluated(sessions, child))];
}

/** Types have no run time. What a type annotation is put on does. */
const HAS_VALUE =
  /^TS(As|Satisfies|NonNull|TypeAssertion|Instantiation|Enum|ModuleBlock|ParameterProperty|ExportAssignment)/;
const isTypeOnly = ({ type }: ScriptNode): boolean =>
  type.startsWith("TS") && !HAS_VALUE.test(type);

function checkNode(walk: Walk, node: ScriptNode): void {
  if (node.type === "TSImportEqualsDeclaration")
    walk.tell(node, 'import … = require(…) is not for scripts: import only from "flotilla"');
  if (isTypeOnly(node) || node.importKind === "type") return;
  checkImport(walk, node);
  checkCall(walk, node);
  walk.tell(node, secretIn(node));
  if (node.type === "ExpressionStatement" && isActionCall(walk, node.expression))
    walk.tell(
      node,
      `session.${node.expression.callee.property.name}(…) is not awaited: write await`,
    );
  const action = actionOf(walk, node);
  if (action !== null && !isSessionAction(action)) walk.tell(node, noAction(action));
  for (const { name, child } of childrenOfNode(node)) {
    if (isNameOnly(node, name)) continue;
    if (isPageCode(walk, node, name, child)) continue;
    if (child.type === "Identifier") checkName(walk, child);
    checkNode(walk, child);
  }
}

/** Whether the child is a name that stands for itself: a member, a key, a label, a part of an import. */
function isNameOnly(node: ScriptNode, name: string): boolean {
  if (name === "property" || name === "key") return node.computed !== true;
  return (
    name === "label" ||
    name === "meta" ||
    name === "specifiers" ||
    (name === "id" && node.type !== "VariableDeclarator")
  );
}

/** A function that `session.evaluate` is given runs in the page, where other names exist. */
function isPageCode(walk: Walk, node: ScriptNode, name: string, child: ScriptNode): boolean {
  if (!/Function/.test(child.type)) return false;
  const named = child.id ?? (name === "init" ? node.id : null);
  if (named && walk.page_functions.has(named.name)) return true;
  return name === "arguments" && actionOf(walk, node.callee) === "evaluate";
}

function checkName(walk: Walk, { name, ...node }: ScriptNode): void {
  if (walk.declared.has(name)) return;
  const at = node as ScriptNode;
  if (Object.hasOwn(FORBIDDEN, name)) walk.tell(at, `${name} ${FORBIDDEN[name]}`);
  else if (EXPORTS.has(name))
    walk.tell(at, `${name} is not imported: import { ${name} } from "flotilla"`);
  else if (!isGlobal(name)) walk.tell(at, `${name} is not defined`);
}

const ONLY = 'only "flotilla" can be imported';

function checkImport(walk: Walk, node: ScriptNode): void {
  const { source } = node;
  if (node.type === "ImportExpression") {
    if (source.value !== "flotilla")
      walk.tell(node, `${ONLY}, not ${source.value ?? "what a value names"}`);
    return;
  }
  if (!/^(Import|ExportNamed|ExportAll)Declaration$/.test(node.type) || !source) return;
  if (source.value !== "flotilla") {
    walk.tell(node, `${ONLY}, not "${source.value}"`);
    return;
  }
  for (const { type, imported } of node.specifiers ?? []) {
    const name = imported?.name ?? imported?.value;
    if (type === "ImportDefaultSpecifier")
      walk.tell(node, '"flotilla" has no default export: import { session } from "flotilla"');
    else if (name !== undefined && !EXPORTS.has(name))
      walk.tell(node, `"flotilla" has no ${name}: it has ${[...EXPORTS].join(", ")}`);
  }
}

function checkCall(walk: Walk, node: ScriptNode): void {
  if (node.type !== "CallExpression" && node.type !== "NewExpression") return;
  const { callee } = node;
  if (callee.type === "Import" && node.arguments[0]?.value !== "flotilla") walk.tell(node, ONLY);
  const member = callee.property?.name ?? callee.property?.value;
  if (callee.type === "MemberExpression" && member === "constructor")
    walk.tell(node, "calling a constructor by that name makes code that cannot be checked");
  if (callee.object?.type === "MetaProperty") walk.tell(node, "import.meta is not for scripts");
  const action = actionOf(walk, callee);
  if (action !== null) walk.tell(node, secretTyped(action, node.arguments));
}

/** The name after `session.`; null when the node is something else. */
function actionOf({ sessions }: Pick<Walk, "sessions">, node?: ScriptNode): string | null {
  if (node?.type !== "MemberExpression" && node?.type !== "OptionalMemberExpression") return null;
  const { object, property, computed } = node;
  if (object.type !== "Identifier" || !sessions.has(object.name)) return null;
  if (!computed) return property.name;
  return property.type === "StringLiteral" ? property.value : null;
}

const isActionCall = (walk: Walk, { type, callee }: ScriptNode): boolean =>
  type === "CallExpression" && actionOf(walk, callee) !== null;

function noAction(name: string): string {
  const meant = meantAction(name);
  return `session.${name} does not exist${meant ? `: use ${meant}` : ""}`;
}
