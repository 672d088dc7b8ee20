import { Alert, Anchor, Button, Group, Paper, Stack, Tabs, Text } from "@mantine/core";
import { IconPlayerPlay, IconRefresh } from "@tabler/icons-react";
import { Link, useLocation } from "wouter";
import type { Attempt } from "#shared/protocol/schema/attempt.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { useFilters } from "../../lib/filters.ts";
import { jobHref, sessionHref } from "../../lib/links.ts";
import { useChange, useGet } from "../../lib/query.ts";
import { countText, durationText } from "../../lib/units.ts";
import { Loadable } from "../../parts/states.tsx";
import { optionsOfAttempt, submitAgain } from "./again.ts";
import { Evidence } from "./evidence.tsx";
import { LongText } from "./long-text.tsx";
import { Output } from "./output.tsx";
import { ranInText } from "./ran-in.ts";
import { ScriptDiff } from "./script-diff.tsx";
import { verdictOf } from "./verdict.ts";

/** One attempt: its outcome above, its texts in tabs below. */
export function AttemptView({ job, n }: { job: Job; n: number }) {
  const query = useGet("/jobs/{id}/attempts/{n}", { params: { id: job.job_id, n } });
  return <Loadable query={query}>{(attempt) => <Parts job={job} attempt={attempt} />}</Loadable>;
}

function Parts({ job, attempt }: { job: Job; attempt: Attempt }) {
  const [filters, setFilters] = useFilters({ part: "" });
  const parts = [
    {
      name: "script",
      title: "Script",
      show: <LongText text={attempt.script} none="No script yet" />,
    },
    ...(attempt.n > 1
      ? [
          {
            name: "diff",
            title: `Changes to attempt ${attempt.n - 1}`,
            show: <ScriptDiff job_id={job.job_id} attempt={attempt} />,
          },
        ]
      : []),
    { name: "output", title: "Output", show: <Output attempt={attempt} /> },
    {
      name: "page",
      title: "Screenshot and page",
      show: <Evidence job_id={job.job_id} attempt={attempt} />,
    },
    ...(attempt.prompt === null && attempt.reply === null
      ? []
      : [
          { name: "prompt", title: "Prompt", show: <LongText text={attempt.prompt} none="None" /> },
          {
            name: "reply",
            title: "Reply",
            show: <LongText text={attempt.reply} none="None yet" />,
          },
        ]),
  ];
  // A script that threw has its traceback there.
  const first = attempt.verdict?.class === "script_error" ? "output" : "script";
  const now = parts.find(({ name }) => name === (filters.part || first)) ?? parts[0];
  return (
    <Stack>
      <Summary job={job} attempt={attempt} />
      <Tabs
        value={now?.name ?? null}
        onChange={(part) => setFilters({ part: part ?? "" })}
        keepMounted={false}
        variant="outline"
      >
        <Tabs.List className="job-tabs" mb="sm">
          {parts.map(({ name, title }) => (
            <Tabs.Tab key={name} value={name}>
              {title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={now?.name ?? "script"}>{now?.show}</Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

const TIMES = [
  ["plan_ms", "planned"],
  ["check_ms", "checked"],
  ["first_action_ms", "to its first action"],
  ["run_ms", "ran"],
  ["judge_ms", "judged"],
] as const;

function Summary({ job, attempt }: { job: Job; attempt: Attempt }) {
  const [, navigate] = useLocation();
  const { n, verdict, timings, tokens, sandbox } = attempt;
  const rerun = useChange(() => submitAgain(job, optionsOfAttempt(job, n)), {
    done: "A new job runs this script",
    failed: "The script was not run again",
    onDone: (job_id) => navigate(jobHref(job_id, { tab: "attempts" })),
  });
  const { title, color } = verdictOf(attempt);
  const said = TIMES.filter(([name]) => timings[name] !== null).map(
    ([name, what]) => `${what} ${durationText(timings[name])}`,
  );
  if (tokens)
    said.push(
      `${countText(tokens.prompt_tokens)} tokens in, ${countText(tokens.completion_tokens)} out`,
    );
  if (sandbox) said.push(`in ${sandbox}`);
  const by =
    verdict?.by === "judge"
      ? `the judge${verdict.engine ? ` (${verdict.engine})` : ""}`
      : "the hub's rules";
  return (
    <Paper withBorder p="md">
      <Stack gap="sm">
        <Alert color={color} title={`Attempt ${n}: ${title}`} p="sm">
          <Text size="sm" className="wrap">
            {verdict?.reason ?? "It is running: the log shows what it does."}
          </Text>
          {verdict?.advice && (
            <Text size="sm" className="wrap">
              Advice for the next one: {verdict.advice}
            </Text>
          )}
          {verdict && (
            <Text size="xs" mt={4}>
              Said by {by}
            </Text>
          )}
        </Alert>
        <Text size="sm" c="dimmed">
          {said.join(" · ")}
        </Text>
        {attempt.proof && (
          <Text size="sm">
            {ranInText(attempt)}{" "}
            <Anchor
              component={Link}
              underline="always"
              href={sessionHref(attempt.proof.session_id)}
            >
              Play the replay
            </Anchor>
          </Text>
        )}
        <Group gap="xs">
          <Button
            component={Link}
            size="xs"
            variant="default"
            leftSection={<IconPlayerPlay size={14} />}
            href={jobHref(job.job_id, { at: attempt.started_at })}
          >
            Play the recording
          </Button>
          <Button
            size="xs"
            variant="default"
            leftSection={<IconRefresh size={14} />}
            disabled={attempt.script === null}
            loading={rerun.isPending}
            onClick={() => rerun.mutate(undefined)}
          >
            Run this script again
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}
