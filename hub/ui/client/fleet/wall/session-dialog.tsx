import { Anchor, Button, Group, Stack, Text } from "@mantine/core";
import { Link } from "wouter";
import { jobHref, sessionHref } from "../../lib/links.ts";
import { EndSession } from "../session/end-session.tsx";
import { Viewer } from "../viewer/viewer.tsx";

/** A session on top of the wall: its screen, and links to more of it. */
export function SessionDialog({ sid, onClose }: { sid: string; onClose: () => void }) {
  return (
    <Stack gap="xs">
      <Viewer
        sid={sid}
        ended={
          <Stack align="flex-start">
            <Text>This session has ended; its lane gets a clean browser.</Text>
            <Button variant="default" onClick={onClose}>
              Back to the browsers
            </Button>
          </Stack>
        }
      >
        {(session) => (
          <>
            <EndSession session={session} size="xs" onEnded={onClose} />
            <Group gap="sm" ml="auto">
              {session.job_id !== null && (
                <Anchor component={Link} size="sm" href={jobHref(session.job_id)}>
                  Its job
                </Anchor>
              )}
              <Anchor component={Link} size="sm" href={sessionHref(sid)}>
                All of this session
              </Anchor>
            </Group>
          </>
        )}
      </Viewer>
    </Stack>
  );
}
