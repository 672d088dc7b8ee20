import { Anchor, Box, Text, Title } from "@mantine/core";
import type { Session } from "#shared/protocol/schema/session.ts";
import { useGet } from "../../lib/query.ts";
import { bytesText } from "../../lib/units.ts";
import { Loadable } from "../../parts/states.tsx";
import { Clip, Status } from "../../parts/text.tsx";

/** As often as the page reads the state of the session: nothing tells that a download has ended. */
const EVERY_MS = 3_000;

/** What the session's browser downloaded. Listing it is not activity, so that a forgotten tab holds no lane. */
export function Downloads({ session: { session_id } }: { session: Session }) {
  const query = useGet(
    "/sessions/{sid}/files",
    { params: { sid: session_id } },
    { refetchInterval: EVERY_MS },
  );
  return (
    <Box component="section" aria-label="Downloads">
      <Title order={2} size="h5" mb={4}>
        Downloads
      </Title>
      <Loadable query={query} lines={2}>
        {({ files }) =>
          files.length === 0 ? (
            <Text size="sm" c="dimmed">
              The browser has downloaded nothing yet
            </Text>
          ) : (
            <Box component="ul" className="session-tabs">
              {files.map((file) => (
                <Box component="li" key={file.name} px="xs">
                  <Box flex={1} miw={0}>
                    {file.state === "completed" ? (
                      <Anchor href={file.href} download size="sm" className="wrap">
                        {file.name}
                      </Anchor>
                    ) : (
                      <Clip text={file.name} />
                    )}
                    <Text size="xs" c="dimmed" truncate>
                      {bytesText(file.size)}, {file.mime}
                    </Text>
                  </Box>
                  {file.state !== "completed" && <Status value={file.state} />}
                </Box>
              ))}
            </Box>
          )
        }
      </Loadable>
    </Box>
  );
}
