import { Anchor, Box, Button, Group, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { Session, SessionFile } from "#shared/protocol/schema/session.ts";
import { call } from "../../lib/http.ts";
import { bytesText } from "../../lib/units.ts";
import { Loadable } from "../../parts/states.tsx";
import { Clip, Status } from "../../parts/text.tsx";

/** What the session's browser downloaded. Listing it counts as use of the session, so that it is done when asked for. */
export function Downloads({ session: { session_id, url } }: { session: Session }) {
  const query = useQuery<{ files: SessionFile[] }>({
    queryKey: ["downloads", session_id, url],
    queryFn: ({ signal }) =>
      call("GET /sessions/{sid}/files", { params: { sid: session_id }, signal }),
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
    placeholderData: (before) => before,
  });
  return (
    <Box component="section" aria-label="Downloads">
      <Group justify="space-between" mb={4}>
        <Title order={2} size="h5">
          Downloads
        </Title>
        <Button
          size="compact-xs"
          variant="default"
          loading={query.isFetching}
          onClick={() => void query.refetch()}
        >
          Look again
        </Button>
      </Group>
      <Loadable query={query} lines={2}>
        {({ files }) =>
          files.length === 0 ? (
            <Text size="sm" c="dimmed">
              The browser has downloaded nothing
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
