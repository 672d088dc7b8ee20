import { Group, Text, Title } from "@mantine/core";
import { useMemo } from "react";
import { bytesText, countText } from "../../lib/units.ts";
import { Copy } from "../../parts/copy.tsx";
import { LogView } from "../../parts/log-view.tsx";

interface StreamProps {
  name: "stdout" | "stderr";
  text: string;
  /** It grows. */
  live?: boolean;
}

/** What a run wrote to one stream; only the lines in view are drawn. */
export function Stream({ name, text, live = false }: StreamProps) {
  const lines = useMemo(() => (text === "" ? [] : text.replace(/\n$/, "").split("\n")), [text]);
  return (
    <section aria-label={name}>
      <Group justify="space-between" mb={4} mih={28}>
        <Title order={3} size="h6">
          {name}
          {live && (
            <Text component="span" size="xs" c="dimmed">
              {" "}
              as it is printed
            </Text>
          )}
        </Title>
        {lines.length > 0 && (
          <Group gap="xs">
            <Text size="xs" c="dimmed">
              {countText(lines.length)} {lines.length === 1 ? "line" : "lines"},{" "}
              {bytesText(text.length)}
            </Text>
            <Copy text={text} label={`Copy ${name}`} />
          </Group>
        )}
      </Group>
      {lines.length === 0 ? (
        <Text size="sm" c="dimmed">
          {live ? "Nothing yet" : "Nothing was printed"}
        </Text>
      ) : (
        <LogView label={name} lines={lines} lineKey={(_, i) => i} height={260} follow={live}>
          {(line) => line || " "}
        </LogView>
      )}
    </section>
  );
}
