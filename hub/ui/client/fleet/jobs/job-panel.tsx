import { Stack } from "@mantine/core";
import { IconPencil, IconPlayerStop, IconRefresh } from "@tabler/icons-react";
import type { Job } from "#shared/protocol/schema/job.ts";
import { seg } from "../../lib/http.ts";
import { jobHref } from "../../lib/links.ts";
import { Copy } from "../../parts/copy.tsx";
import { type MoreAction, MoreMenu } from "../../parts/more-menu.tsx";
import { PanelActions, PanelPart } from "../../parts/panel-parts.tsx";
import { runAgainWords } from "../job/again.ts";
import { AnswerText } from "../job/answer-band.tsx";
import { answerText } from "../job/answer-text.ts";
import { SmallPicture } from "../job/pictures.tsx";
import { JobState } from "../job/state.tsx";
import { CANCEL_JOB, useJobActions } from "../job/use-job-actions.ts";
import { JobSentence } from "../job/verdict-band.tsx";
import { JobFacts } from "./job-facts.tsx";

/** A capture beside its list: its picture, its answer, what became of it, and its facts. */
export function JobPanel({ job }: { job: Job }) {
  const { job_id, thumbnail_href, answer } = job;
  return (
    <Stack gap="md">
      {thumbnail_href !== null && (
        // Without a key the picture of the job before would stay until this one is there.
        <SmallPicture
          key={thumbnail_href}
          className="thumb panel-picture"
          src={thumbnail_href}
          alt="What the window showed at the end of the job"
        />
      )}
      <PanelActions state={<JobState job={job} chip />} href={jobHref(job_id)} open="Open capture">
        <More key={job_id} job={job} />
      </PanelActions>
      {answer !== null && <Answer job={job} />}
      <JobSentence job={job} />
      <JobFacts job={job} />
    </Stack>
  );
}

/** What is done without opening it; it ends or runs again here, too. */
function More({ job }: { job: Job }) {
  const { cancel, rerun } = useJobActions(job);
  const first: MoreAction =
    job.finished_at === null
      ? {
          label: "Cancel",
          icon: <IconPlayerStop size={16} />,
          onClick: () => cancel.mutate(undefined),
          ask: CANCEL_JOB,
        }
      : {
          label: runAgainWords(job),
          icon: <IconRefresh size={16} />,
          onClick: () => rerun.mutate(undefined),
        };
  const edit: MoreAction = {
    label: "Edit and submit again",
    icon: <IconPencil size={16} />,
    href: `/ui/captures/new?from=${seg(job.job_id)}`,
  };
  return (
    <MoreMenu
      label="More for this capture"
      loading={cancel.isPending || rerun.isPending}
      actions={[first, edit]}
    />
  );
}

function Answer({ job: { answer, options } }: { job: Job }) {
  const text = answerText(answer);
  return (
    <PanelPart title="Answer" side={<Copy text={text} label="Copy the answer" />}>
      <div className="panel-answer" role="region" aria-label="Text of the answer" tabIndex={0}>
        {typeof options.goal === "string" && <p className="answer-question">{options.goal}</p>}
        <AnswerText text={text} />
      </div>
    </PanelPart>
  );
}
