import { isSecretParam } from "#shared/kit/secret-params.ts";
import { changeParams } from "#shared/kit/url-params.ts";
import { placeholderOf } from "#shared/protocol/recipe-secrets.ts";
import { variableOfParam } from "./secret-names.ts";
import { plainAddress } from "./step-of.ts";
import type { NewStep } from "./steps.ts";

const MAX_ADDRESS = 8_000;
/** Further ones are left out of the address. */
const MOST_SECRETS = 20;

/** Somebody goes to an address; what looks like a secret in it is a placeholder (rules/recorded-input#secrets-in-steps). */
export function moveTo(raw: string, tab: number): NewStep {
  const url = new URL(raw);
  url.username = "";
  url.password = "";
  const host = url.hostname;
  const variables = new Set<string>();
  const shown = changeParams(url.href, (name, value) => {
    if (!isSecretParam(name, value)) return undefined;
    const variable = variableOfParam(host, name);
    if (variables.size >= MOST_SECRETS && !variables.has(variable)) return null;
    variables.add(variable);
    return placeholderOf(variable);
  });
  const step = {
    kind: "navigate" as const,
    tab,
    page: plainAddress(raw),
    url: shown.slice(0, MAX_ADDRESS),
    secrets: [...variables].map((variable) => ({ variable, host })),
  };
  return { step, field: null };
}
