import { placeholderOf } from "#shared/protocol/recipe-secrets.ts";
import type { ElementSelector, Picked } from "#shared/protocol/schema/recorded-input.ts";
import { rankSelectors } from "../picker/described.ts";
import { variableFor } from "./secret-names.ts";
import { plainAddress } from "./step-of.ts";
import type { NewStep } from "./steps.ts";

/** An action of a session. */
export interface Asked {
  action: string;
  args: Record<string, unknown>;
}

interface Place {
  tab: number;
  url: string;
  host: string;
}

/** @param seen what is known of its element; null: nothing is */
type MakeStep = (seen: Picked | null, place: Place) => NewStep;

const MAX_TEXT = 10_000;
const texts = (value: unknown): string[] =>
  [value ?? []].flat().flatMap((one) => (typeof one === "string" ? [one] : []));

/** How an action that no page tells of becomes a step; null for any other. */
export function programStep({ action, args }: Asked): MakeStep | null {
  const { selector, text, values, files } = args;
  if (typeof selector !== "string") return null;
  const on = (seen: Picked | null, { tab, url }: Place) => {
    const given: ElementSelector[] = [{ by: "given", selector, matches: 1 }];
    const known = seen?.selectors.map(({ by, selector: one, matches }) => ({
      by,
      selector: one,
      matches,
    }));
    return {
      tab,
      page: plainAddress(url),
      role: seen?.element?.role ?? null,
      name: seen?.element?.name ?? "",
      selectors: rankSelectors(known?.length ? known : given),
      frame: seen?.frame ?? texts(args.frame),
    };
  };
  const field = `program ${JSON.stringify([args.frame ?? null, selector])}`;
  switch (action) {
    case "fill":
      return (seen, place) => {
        const element = on(seen, place);
        // What cannot be looked at may be a password.
        if (seen?.element && !seen.element.secret)
          return {
            step: { kind: "fill", ...element, text: String(text).slice(0, MAX_TEXT), secret: null },
            field,
          };
        const { type = "password", name = "" } = seen?.element ?? {};
        const variable = variableFor(place.host, { autocomplete: "", type, name });
        const secret = { variable, host: place.host };
        return { step: { kind: "fill", ...element, text: placeholderOf(variable), secret }, field };
      };
    case "select_option":
      return (seen, place) => ({
        step: {
          kind: "select_option",
          ...on(seen, place),
          values: seen?.element?.secret
            ? []
            : texts(values)
                .map((one) => one.slice(0, 200))
                .slice(0, 100),
        },
        field,
      });
    case "set_input_files":
      return (seen, place) => {
        const names = Array.isArray(files) ? files.map((file) => String(file?.name ?? "")) : [];
        return {
          step: {
            kind: "upload",
            ...on(seen, place),
            files: names.map((one) => one.slice(0, 255)).slice(0, 100),
          },
          field,
        };
      };
    default:
      return null;
  }
}
