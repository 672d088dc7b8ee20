import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import type { CreatedToken } from "#shared/protocol/schema/token.ts";
import { Command } from "../../parts/copy.tsx";

/** The one time that a token is shown. */
export function ShownToken({ made, onDone }: { made: CreatedToken; onDone: () => void }) {
  return (
    <Stack gap="sm">
      <Text size="sm">
        This is the token of {made.name}, of the role {made.role}. It is shown only this once: the
        server keeps only its hash.
      </Text>
      <Command text={made.token} />
      <Text size="sm" c="dimmed">
        Programs send it as Authorization: Bearer, the command line reads it from SVC_API_TOKEN, and
        a browser logs in with it.
      </Text>
      {made.warnings.map((text) => (
        <Alert key={text} color="yellow">
          {text}
        </Alert>
      ))}
      <Group className="panel-end">
        <Button onClick={onDone}>It is kept</Button>
      </Group>
    </Stack>
  );
}
