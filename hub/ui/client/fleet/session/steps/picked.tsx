import { Group, Text, UnstyledButton } from "@mantine/core";
import { Copy } from "../../../parts/copy.tsx";
import type { Picker } from "../stage/use-picker.ts";
import { KIND_WORDS } from "./step-words.ts";

/** The element that was picked, and what each of its selectors names. */
export function PickedElement({ picker }: { picker: Picker }) {
  const { on, picked, chosen, error, shown } = picker;
  if (!on && picked === null) return null;
  const element = picked?.element;
  return (
    <section className="picked" aria-label="Picked element">
      {error !== null && (
        <Text size="sm" role="alert" className="steps-warn">
          {error}
        </Text>
      )}
      {!element && error === null && (
        <Text size="sm">
          {picked?.selectors.length
            ? "Nothing that can be seen matches."
            : "Point at something on the page, and click to choose it."}
        </Text>
      )}
      {element && (
        <Text size="sm" className="wrap">
          <b>{element.role ?? element.tag}</b> {element.name && `“${element.name}”`}
          {!chosen && " · click to choose it"}
        </Text>
      )}
      {picked?.frame.length ? (
        <Text size="xs" className="step-selector">
          in {picked.frame.join(" › ")}
        </Text>
      ) : null}
      <ul className="picked-ways">
        {picked?.selectors.map(({ by, selector, matches }, i) => (
          <li key={selector} data-shown={i === shown || undefined}>
            <UnstyledButton
              className="picked-way"
              aria-pressed={i === shown}
              onClick={() => picker.show(i)}
              onMouseEnter={() => picker.show(i)}
            >
              <Group gap={6} wrap="nowrap">
                <span className="picked-kind">{KIND_WORDS[by]}</span>
                <span className="picked-count" data-one={matches === 1 || undefined}>
                  {matches === 1 ? "1 match" : `${matches} matches`}
                </span>
              </Group>
              <span className="step-selector">{selector}</span>
            </UnstyledButton>
            <Copy text={selector} label={`Copy the selector by ${KIND_WORDS[by]}`} />
          </li>
        ))}
      </ul>
    </section>
  );
}
