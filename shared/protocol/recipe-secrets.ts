import type { RecipeAction } from "./schema/recipe.ts";

/**
 * Placeholder in the text of a `fill` or `type` action for a value of the hub's environment
 * (rules/recipes#secrets-in-recipes).
 */
const PLACEHOLDER = /\$\{ENV:([A-Za-z_][A-Za-z0-9_]*)\}/g;

export const placeholderOf = (variable: string): string => `\${ENV:${variable}}`;

/** The names whose values the actions need. */
export function secretNames(actions: readonly RecipeAction[]): string[] {
  const names = new Set<string>();
  for (const action of actions)
    if (action.kind === "fill" || action.kind === "type")
      for (const [, name = ""] of action.text.matchAll(PLACEHOLDER)) names.add(name);
  return [...names];
}

/** The text with every placeholder replaced. The caller must refuse missing values, see `missingSecret`. */
export const fillSecrets = (text: string, secrets: Readonly<Record<string, string>>): string =>
  text.replace(PLACEHOLDER, (whole, name: string) =>
    Object.hasOwn(secrets, name) ? (secrets[name] ?? whole) : whole,
  );

/** Hosts on which a value may be entered, by the name of its variable: `login.site.test`, or `*.site.test` for all below it. */
export type SecretHosts = Readonly<Record<string, readonly string[]>>;

/** Whether a host is what such a pattern names. */
export const isOnHost = (host: string, pattern: string): boolean =>
  pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : host === pattern;

/**
 * Why the placeholders of a text may not be filled in a frame of this address, without revealing a value; null when
 * they may. Only an http or https address says whose the frame is.
 */
export function secretRefusal(text: string, hosts: SecretHosts, frame_url: string): string | null {
  const url = URL.canParse(frame_url) ? new URL(frame_url) : null;
  const host = url !== null && /^https?:$/.test(url.protocol) ? url.hostname : null;
  for (const [, name = ""] of text.matchAll(PLACEHOLDER)) {
    const bound = Object.hasOwn(hosts, name) ? (hosts[name] ?? []) : [];
    if (host !== null && bound.some((pattern) => isOnHost(host, pattern))) continue;
    const where = host ?? "a frame without its own host";
    const how = host === null ? "" : `: the hub's SVC_RECIPE_ENV=${name}@${host} would allow it`;
    const allowed = bound.length === 0 ? "it is bound to no host" : `only on ${bound.join(", ")}`;
    return `${name} may not be entered on ${where}, ${allowed}${how}`;
  }
  return null;
}

/** Why a recipe cannot run, naming the variable but never a value; null when every value is there. */
export function missingSecret(
  actions: readonly RecipeAction[],
  secrets: Readonly<Record<string, string>>,
): string | null {
  const name = secretNames(actions).find((n) => !Object.hasOwn(secrets, n));
  if (name === undefined) return null;
  return `\${ENV:${name}} has no value: ${name} must be listed in the hub's SVC_RECIPE_ENV and set in its environment`;
}
