import { Anchor, Box, Button, Checkbox, Group, Text, Title } from "@mantine/core";
import { useEffect, useState } from "react";
import type { Session } from "#shared/protocol/schema/session.ts";
import { open } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { bytesText } from "../../lib/units.ts";

interface Shot {
  url: string;
  size: number;
  name: string;
}

/** A tall page takes its time. */
const SHOT_MS = 40_000;

/** Takes a screenshot of the page; the last one is shown and can be saved. */
export function Pictures({ session }: { session: Session }) {
  const [full_page, setFullPage] = useState(false);
  const [shot, setShot] = useState<Shot | null>(null);
  // The screenshot's bytes stay in memory until its object URL is revoked.
  useEffect(() => () => void (shot && URL.revokeObjectURL(shot.url)), [shot]);
  const take = useChange(
    async () => {
      const headers = { accept: "image/png" };
      const json = { full_page };
      const response = await open("POST /sessions/{sid}/screenshot", {
        params: { sid: session.session_id },
        json,
        headers,
        timeout_ms: SHOT_MS,
      });
      return response.blob();
    },
    {
      failed: "No screenshot was taken",
      onDone: (blob) => {
        const at = new Date().toISOString().slice(0, 19).replaceAll(":", "");
        setShot({ url: URL.createObjectURL(blob), size: blob.size, name: `session-${at}.png` });
      },
    },
  );
  return (
    <Box component="section" aria-label="Screenshot">
      <Title order={2} size="h5" mb={4}>
        Screenshot
      </Title>
      <Group gap="sm" mb="xs">
        <Button
          size="xs"
          variant="default"
          loading={take.isPending}
          onClick={() => take.mutate(undefined)}
        >
          Take a screenshot
        </Button>
        <Checkbox
          size="xs"
          label="The whole page, not only what is in view"
          checked={full_page}
          onChange={(event) => setFullPage(event.currentTarget.checked)}
        />
      </Group>
      {shot === null ? (
        <Text size="sm" c="dimmed">
          None taken here yet
        </Text>
      ) : (
        <>
          <img src={shot.url} alt={`Screenshot of ${session.url}`} className="session-shot" />
          <Anchor href={shot.url} download={shot.name} size="sm">
            Save as PNG, {bytesText(shot.size)}
          </Anchor>
        </>
      )}
    </Box>
  );
}
