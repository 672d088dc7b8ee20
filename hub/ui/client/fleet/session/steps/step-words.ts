import {
  type Icon,
  IconArrowRight,
  IconArrowsVertical,
  IconCheckbox,
  IconCursorText,
  IconKeyboard,
  IconListCheck,
  IconPointer,
  IconSquare,
  IconUpload,
  IconWindow,
} from "@tabler/icons-react";
import type { ElementSelector, StepKind } from "#shared/protocol/schema/recorded-input.ts";
import { type ChosenStep, nameOf } from "../recorded/chosen.ts";

const WORDS: Record<StepKind, { verb: string; icon: Icon }> = {
  navigate: { verb: "Go to", icon: IconArrowRight },
  click: { verb: "Click", icon: IconPointer },
  fill: { verb: "Fill", icon: IconCursorText },
  select_option: { verb: "Select in", icon: IconListCheck },
  check: { verb: "Tick", icon: IconCheckbox },
  uncheck: { verb: "Untick", icon: IconSquare },
  press: { verb: "Press", icon: IconKeyboard },
  upload: { verb: "Upload to", icon: IconUpload },
  scroll: { verb: "Scroll", icon: IconArrowsVertical },
  tab: { verb: "Change the tab", icon: IconWindow },
};

export const verbOf = (step: ChosenStep) =>
  step.kind === "click" && step.click_count > 1
    ? { verb: "Double-click", icon: IconPointer }
    : WORDS[step.kind];

/** What a step is done to, for people. */
export function objectOf(step: ChosenStep): string {
  if (step.kind === "navigate") return step.url.replace(/^https?:\/\//, "");
  if (step.kind === "tab") return `to tab ${step.tab + 1}`;
  if (step.kind === "scroll") return `by ${step.amount} px`;
  const name = `“${nameOf(step)}”`;
  return step.kind === "press" ? `${step.key} in ${name}` : name;
}

/** What a step enters; null: nothing. */
export function enteredBy(step: ChosenStep): string | null {
  if (step.kind === "fill") return step.text;
  if (step.kind === "select_option") return step.values.join(", ") || "a secret";
  return step.kind === "upload" ? step.files.join(", ") : null;
}

export const KIND_WORDS: Record<ElementSelector["by"], string> = {
  role: "role",
  label: "label",
  test_id: "test id",
  placeholder: "placeholder",
  alt: "alt",
  title: "title",
  text: "text",
  css: "css",
  given: "as given",
};
