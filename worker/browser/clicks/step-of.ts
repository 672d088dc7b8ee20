import { placeholderOf } from "#shared/protocol/recipe-secrets.ts";
import { rankSelectors } from "../picker/described.ts";
import type { Heard } from "./heard.ts";
import { variableFor } from "./secret-names.ts";
import type { NewStep } from "./steps.ts";

/** Where something was done. */
export interface StepPlace {
  tab: number;
  /** Address of the page. */
  url: string;
  /** Host of the frame that it was done in. */
  host: string;
  frame: string[];
}

type Did = Exclude<Heard, { kind: "here" }>;

/** The address without what may be secret in it. */
export function plainAddress(raw: string): string {
  if (!URL.canParse(raw)) return "";
  const url = new URL(raw);
  for (const part of ["username", "password", "search", "hash"] as const) url[part] = "";
  return url.href.slice(0, 8_000);
}

/** What a person did as a step. */
export function stepOf(did: Did, { tab, url, host, frame }: StepPlace): NewStep {
  const at = { tab, page: plainAddress(url) };
  if (did.kind === "scroll")
    return { step: { kind: "scroll", ...at, amount: did.amount }, field: null };
  const { role, name, field } = did;
  const on = { ...at, role, name, selectors: rankSelectors(did.selectors), frame };
  switch (did.kind) {
    case "click":
      return {
        step: { kind: "click", ...on, click_count: did.count },
        field,
        into_field: did.text_field,
      };
    case "fill": {
      if (!did.secret)
        return { step: { kind: "fill", ...on, text: did.text, secret: null }, field };
      const variable = variableFor(host, did);
      const text = placeholderOf(variable);
      return { step: { kind: "fill", ...on, text, secret: { variable, host } }, field };
    }
    case "select":
      return { step: { kind: "select_option", ...on, values: did.values }, field };
    case "tick":
      return { step: { kind: did.checked ? "check" : "uncheck", ...on }, field };
    case "upload":
      return { step: { kind: "upload", ...on, files: did.files }, field };
    case "press":
      return { step: { kind: "press", ...on, key: did.key }, field };
  }
}
