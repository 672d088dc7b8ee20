import { Accordion, Group, SimpleGrid, Text } from "@mantine/core";
import { useState } from "react";
import { ChangedBadge } from "./changed-badge.tsx";
import { BROWSER_FIELDS, DEFAULTS, type Options } from "./fields.ts";
import { OptionInput } from "./option-input.tsx";
import { type Issues, withOption } from "./values.ts";

interface BrowserOptionsProps {
  /** Those that are set. */
  given: Options;
  issues: Issues;
  onChange: (given: Options) => void;
}

/** What a session or a host says of its browser, folded until it is needed (rules/browser-options#the-options). */
export function BrowserOptions({ given, issues, onChange }: BrowserOptionsProps) {
  const [opened, setOpened] = useState(false);
  // A field that the API refused is in sight.
  const wrong = BROWSER_FIELDS.some(({ name }) => issues.has(name));
  return (
    <Accordion
      variant="contained"
      keepMounted={false}
      value={opened || wrong ? "browser" : null}
      onChange={(item) => setOpened(item !== null)}
    >
      <Accordion.Item value="browser">
        <Accordion.Control>
          <Group gap="xs">
            <Text size="sm" fw={600}>
              What pages see and load
            </Text>
            <ChangedBadge changed={Object.keys(given).length} />
          </Group>
        </Accordion.Control>
        <Accordion.Panel>
          <SimpleGrid type="container" cols={{ base: 1, "520px": 2 }} verticalSpacing="md">
            {BROWSER_FIELDS.map((field) => (
              <OptionInput
                key={field.name}
                field={field}
                value={given[field.name]}
                base={DEFAULTS[field.name] ?? null}
                fromPreset={false}
                error={issues.get(field.name)}
                onChange={(value) => onChange(withOption(given, DEFAULTS, field.name, value))}
              />
            ))}
          </SimpleGrid>
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}
