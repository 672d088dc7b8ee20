import { Alert, Stack, Text, Title } from "@mantine/core";
import type { Attempt } from "#shared/protocol/schema/attempt.ts";
import { LongText } from "./long-text.tsx";

/** What the script threw, returned and printed. */
export function Output({ attempt }: { attempt: Attempt }) {
  const { error, result, stdout, stderr, exit_code } = attempt;
  const answer = result === null ? null : JSON.stringify(result, null, 2);
  const parts = [
    { title: "Result", text: answer, none: "The script exported no result." },
    { title: "Standard output", text: stdout, none: "Nothing was printed." },
    { title: "Standard error", text: stderr, none: "Nothing was printed." },
  ];
  return (
    <Stack>
      {error && (
        <Alert
          color="red"
          title={`${error.name}${error.line === null ? "" : ` in line ${error.line}`}`}
        >
          <Text size="sm" className="wrap">
            {error.message}
          </Text>
          {error.stack && (
            <Text size="xs" ff="monospace" mt="xs" className="wrap" lineClamp={20}>
              {error.stack}
            </Text>
          )}
        </Alert>
      )}
      {parts.map(({ title, text, none }) => (
        <div key={title}>
          <Title order={2} size="h5" mb="xs">
            {title}
          </Title>
          <LongText text={text} none={none} />
        </div>
      ))}
      <Text size="sm" c="dimmed">
        Exit code: {exit_code ?? "none"}
      </Text>
    </Stack>
  );
}
