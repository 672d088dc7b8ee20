import { changeParams } from "#shared/kit/url-params.ts";
import { placeholderOf } from "#shared/protocol/recipe-secrets.ts";
import type { RecordedStep } from "#shared/protocol/schema/recorded-input.ts";

type NavigateStep = Extract<RecordedStep, { kind: "navigate" }>;

/** The address without the parameters whose values are secret: what has no environment goes there. */
export function openAddress({ url, secrets = [] }: NavigateStep): string {
  const placeholders = new Set(secrets.map(({ variable }) => placeholderOf(variable)));
  return changeParams(url, (_, value) => (placeholders.has(value) ? null : undefined));
}

/** That it left something out; none if it did not. */
export const leftOut = (step: NavigateStep): string[] =>
  openAddress(step) === step.url
    ? []
    : [`What looks like a secret in the address ${openAddress(step)} is left out.`];

/**
 * The address as code that reads its secrets: texts and variables in turn. Only the step's own placeholders are read,
 * because an address may hold what looks like another one.
 */
export function addressCode(
  { url, secrets = [] }: NavigateStep,
  read: (variable: string) => string,
): string {
  const known = new Map(secrets.map(({ variable }) => [placeholderOf(variable), variable]));
  const parts: string[] = [];
  let text = "";
  const end = () => {
    if (text !== "") parts.push(JSON.stringify(text));
    text = "";
  };
  for (const part of url.split(/(\$\{ENV:\w+\})/)) {
    const variable = known.get(part);
    if (variable === undefined) text += part;
    else {
      end();
      parts.push(read(variable));
    }
  }
  end();
  return parts.join(" + ");
}
