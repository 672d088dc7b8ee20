import { Text } from "@mantine/core";
import { PYTHON_EXAMPLE, SIGNATURES, TYPESCRIPT_EXAMPLE } from "#shared/protocol/code-examples.ts";
import type { Language } from "./mount-editor.ts";

/** The languages that code is written in, with what to begin with. */
export const EXAMPLES: Record<Language, string> = {
  python_module: PYTHON_EXAMPLE,
  bun_module: TYPESCRIPT_EXAMPLE,
};
export const LANGUAGES = [
  { value: "python_module", label: "Python" },
  { value: "bun_module", label: "TypeScript" },
];
export const isLanguage = (type: string): type is Language => type in EXAMPLES;

/** What a module has to have, in a line. */
export function Signature({ language }: { language: Language }) {
  const [one = "", ...rest] = SIGNATURES[language].split(", or ");
  return (
    <Text size="sm" c="dimmed" className="wrap">
      A worker calls <code>{one}</code>, or {rest.join(", or ")}.
    </Text>
  );
}
