import type { ScriptNode } from "./parse-script.ts";

/** Values that belong in the hub's environment and not in a script, which is stored and shown. */

const TOKENS: readonly [RegExp, string][] = [
  [/^(sk|pk|rk)[-_](live|test|proj|ant|or)?[-_A-Za-z0-9]{20,}$/, "an API key"],
  [/^gh[pousr]_[A-Za-z0-9]{30,}$|^github_pat_[A-Za-z0-9_]{30,}$/, "a GitHub token"],
  [/^glpat-[A-Za-z0-9_-]{20,}$/, "a GitLab token"],
  [/^(AKIA|ASIA)[0-9A-Z]{16}$/, "an AWS access key"],
  [/^xox[abprs]-[A-Za-z0-9-]{10,}$/, "a Slack token"],
  [/^AIza[0-9A-Za-z_-]{35}$/, "a Google API key"],
  [/^eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+$/, "a JSON web token"],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----/, "a private key"],
  [/^(Bearer|Basic) [A-Za-z0-9+/=_.-]{16,}$/, "credentials of a header"],
];

const SECRET_NAME =
  /(^|[_-])(password|passwd|passphrase|pwd|secret|api_?key|access_?key|auth_?token|access_?token|token)$/i;
const PASSWORD_FIELD = /pass(word|wd|phrase)?\b|passwo|pwd|secret|\botp\b|\bpin\b/i;
/** What fills a password field without being one: what the hub puts in its place. */
const PLACEHOLDER = /^\$\{ENV:\w+\}$/;

const HOW = `keep it in the hub's environment (SVC_RECIPE_ENV) and fill it with session.recipe([{ kind: "fill", selector, text: "\${ENV:NAME}" }])`;

/** camelCase and snake_case alike. */
const isSecretName = (name: string): boolean =>
  SECRET_NAME.test(name.replace(/([a-z0-9])([A-Z])/g, "$1_$2"));

const literalOf = (node: ScriptNode | undefined | null): string | null => {
  if (node?.type === "StringLiteral") return node.value;
  if (node?.type !== "TemplateLiteral" || node.expressions.length > 0) return null;
  return node.quasis[0]?.value.cooked ?? null;
};

const isValue = (text: string | null): text is string =>
  text !== null && text.length >= 4 && !PLACEHOLDER.test(text);

/** Why the node holds a secret, in words; null when it does not. */
export function secretIn(node: ScriptNode): string | null {
  const text = literalOf(node);
  if (text !== null) {
    const kind = TOKENS.find(([pattern]) => pattern.test(text.trim()))?.[1];
    return kind ? `${kind} is written into the script: ${HOW}` : null;
  }
  const [name, value] = namedValue(node);
  if (name !== null && isSecretName(name) && isValue(literalOf(value)))
    return `${name} is written into the script: ${HOW}`;
  return null;
}

function namedValue(node: ScriptNode): [string | null, ScriptNode | null] {
  if (node.type === "VariableDeclarator") return [node.id.name ?? null, node.init];
  if (node.type === "AssignmentExpression")
    return [node.left.name ?? node.left.property?.name ?? null, node.right];
  if (node.type === "ObjectProperty") return [node.key.name ?? node.key.value ?? null, node.value];
  return [null, null];
}

/** The same of `session.fill("#password", "…")` and `session.type`, in either form. */
export function secretTyped(action: string, args: ScriptNode[]): string | null {
  if (action !== "fill" && action !== "type") return null;
  const [first, second] = args;
  const member = (name: string): ScriptNode | undefined =>
    first?.properties?.find(({ key }: ScriptNode) => key?.name === name)?.value;
  const selector = literalOf(first?.type === "ObjectExpression" ? member("selector") : first);
  const text = literalOf(first?.type === "ObjectExpression" ? member("text") : second);
  if (selector === null || !PASSWORD_FIELD.test(selector) || !isValue(text)) return null;
  return `a password is written into the script: ${HOW}`;
}
