import { parseScript, type ScriptNode } from "./parse-script.ts";

/** Results of these say nothing about the page. */
const ASIDE = new Set(["save", "log"]);

/**
 * The script as it is run: one without a default export exports the value that it awaited last at its top level
 * (rules/scripts#result-of-a-script). Everything stays in its line, so that errors name the author's.
 */
export function prepareScript(code: string): string {
  const { body } = parseScript(code);
  if (body.some(isDefaultExport)) return code;
  const last = body.findLast((statement) => awaited(statement) !== null);
  if (!last) return code;
  const value = awaited(last) as ScriptNode;
  if (last.type === "ExpressionStatement" && last.expression === value)
    return `${code.slice(0, value.start)}export default (${code.slice(value.start, value.end)})${code.slice(value.end)}`;
  // A name that was given the value: what it has after this statement.
  return `${code.slice(0, last.end)};export default (${code.slice(value.start, value.end)});${code.slice(last.end)}`;
}

const isDefaultExport = ({ type, specifiers = [] }: ScriptNode): boolean =>
  type === "ExportDefaultDeclaration" ||
  type === "TSExportAssignment" ||
  specifiers.some(({ exported }: ScriptNode) => exported?.name === "default");

/** The expression that has the awaited value: the await itself, or the name it is given. */
function awaited(statement: ScriptNode): ScriptNode | null {
  const declaration =
    statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
  if (declaration?.type === "VariableDeclaration") {
    const last = declaration.declarations.at(-1);
    return last?.id.type === "Identifier" && isAwait(last.init) ? nameOf(last.id) : null;
  }
  if (statement.type !== "ExpressionStatement") return null;
  const { expression } = statement;
  if (isAwait(expression)) return expression;
  const { type, left, right } = expression;
  return type === "AssignmentExpression" && left.type === "Identifier" && isAwait(right)
    ? left
    : null;
}

/** Without the annotation that the parser counts as a part of it. */
const nameOf = (id: ScriptNode): ScriptNode => ({ ...id, end: id.start + id.name.length });

function isAwait(expression: ScriptNode | null): boolean {
  if (expression?.type !== "AwaitExpression") return false;
  const { callee } = expression.argument;
  return !(callee?.type === "Identifier" && ASIDE.has(callee.name));
}
