import { Anchor, Button, Group, Paper, Select, Stack, Text, TextInput, Title } from "@mantine/core";
import { IconPlayerPlay, IconPlayerSkipForward, IconPlayerStop } from "@tabler/icons-react";
import { type FormEvent, useState } from "react";
import { FlotillaError } from "#shared/client/errors.ts";
import { sessionHref } from "../../lib/links.ts";
import { useGet } from "../../lib/query.ts";
import { ErrorNote } from "../../parts/states.tsx";
import { Viewer } from "../viewer/viewer.tsx";
import { messageAt, type Step } from "./draft.ts";
import type { DryRun } from "./use-dry-run.ts";

interface DryRunPanelProps {
  host: string;
  steps: readonly Step[];
  dry: DryRun;
}

/** A live browser to try the steps in, before any job meets them. */
export function DryRunPanel({ host, steps, dry }: DryRunPanelProps) {
  const [url, setUrl] = useState(`https://${host}/`);
  const [use_profile, setProfile] = useState<string | null>(null);
  const profiles = useGet("/profiles");
  const { sid, busy, open } = dry;
  const issues = open.error instanceof FlotillaError ? open.error.issues : [];
  const next = steps.find((step) => dry.runOf(step)?.state !== "ok");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    open.mutate({ url, use_profile });
  };
  return (
    <Paper withBorder p="sm" component="section" aria-label="Dry run" className="dry-run">
      <Title order={3} size="h5" mb="xs">
        Dry run
      </Title>
      {sid === null ? (
        <form onSubmit={submit}>
          <Stack gap="sm">
            <Text size="sm">
              Opens a browser on a page of the host and runs the steps there, with a screenshot
              after each. It has only its profile's cookies. The session ends when you leave.
            </Text>
            <TextInput
              label="Page"
              value={url}
              onChange={(event) => setUrl(event.currentTarget.value)}
              error={messageAt(issues, "body", "url")}
            />
            <Select
              label="Profile"
              placeholder="The default"
              clearable
              clearButtonProps={{ "aria-label": "Use the default profile" }}
              data={profiles.data?.profiles.map(({ name }) => name) ?? []}
              value={use_profile}
              onChange={setProfile}
            />
            {open.error && <ErrorNote error={open.error} title="The session was not opened" />}
            <Group>
              <Button type="submit" loading={open.isPending}>
                Open a session
              </Button>
            </Group>
          </Stack>
        </form>
      ) : (
        <Stack gap="xs">
          <Group gap="xs">
            <Button
              size="xs"
              leftSection={<IconPlayerPlay size={16} />}
              loading={busy}
              disabled={steps.length === 0}
              onClick={() => void dry.run(steps)}
            >
              Run all steps
            </Button>
            <Button
              size="xs"
              variant="default"
              leftSection={<IconPlayerSkipForward size={16} />}
              disabled={busy || next === undefined}
              onClick={() => next && void dry.run([next])}
            >
              Run the next step
            </Button>
            <Button
              size="xs"
              variant="default"
              leftSection={<IconPlayerStop size={16} />}
              disabled={!busy}
              onClick={dry.stop}
            >
              Stop
            </Button>
            <Button
              size="xs"
              variant="default"
              disabled={busy}
              loading={dry.restart.isPending}
              onClick={() => dry.restart.mutate(url)}
            >
              Open the page again
            </Button>
            <Button
              size="xs"
              variant="default"
              loading={dry.end.isPending}
              onClick={() => dry.end.mutate(undefined)}
            >
              End session
            </Button>
          </Group>
          <Viewer
            sid={sid}
            ended={
              <Group>
                <Text size="sm">The session has ended.</Text>
                <Button size="xs" variant="default" onClick={dry.forget}>
                  Open another one
                </Button>
              </Group>
            }
          />
        </Stack>
      )}
      {dry.tried !== null && !busy && (
        // What is not saved yet stays in this window.
        <Anchor
          href={`${sessionHref(dry.tried)}?show=recording`}
          target="_blank"
          rel="noreferrer"
          size="sm"
        >
          See the recording of these steps
        </Anchor>
      )}
    </Paper>
  );
}
