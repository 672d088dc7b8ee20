import { Accordion, Badge, Group, SimpleGrid, Text } from "@mantine/core";
import type { ReactNode } from "react";

interface FoldedOptionsProps {
  /** Its name in the accordion. */
  name: string;
  title: string;
  /** How many of its options say something. */
  changed: number;
  children: ReactNode;
}

/** Options that belong together, as an item of an accordion. */
export function FoldedOptions({ name, title, changed, children }: FoldedOptionsProps) {
  return (
    <Accordion.Item value={name}>
      <Accordion.Control>
        <Group gap="xs">
          <Text size="sm" fw={600}>
            {title}
          </Text>
          {changed > 0 && (
            <Badge variant="light" size="sm" tt="none">
              {changed} changed
            </Badge>
          )}
        </Group>
      </Accordion.Control>
      <Accordion.Panel>
        <SimpleGrid type="container" cols={{ base: 1, "520px": 2 }} verticalSpacing="md">
          {children}
        </SimpleGrid>
      </Accordion.Panel>
    </Accordion.Item>
  );
}
