import { ActionIcon, Button } from "@mantine/core";
import {
  IconCamera,
  IconDownload,
  IconLink,
  IconPencil,
  IconPlayerPlay,
  IconPlayerStop,
  IconRefresh,
  IconTrash,
} from "@tabler/icons-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { pathOf } from "#shared/client/operation.ts";
import { counted } from "#shared/kit/words.ts";
import { DOCUMENT_NAMES, JOB_DOCUMENTS } from "#shared/protocol/documents.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { seg } from "../../lib/http.ts";
import { jobHref } from "../../lib/links.ts";
import { useRoom } from "../../lib/width.ts";
import { ConfirmDialog } from "../../parts/confirm.tsx";
import type { MoreAction } from "../../parts/more-menu.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { copyMoment } from "../player/moment-link.ts";
import { runAgainWords } from "./again.ts";
import { Compare } from "./compare.tsx";
import { SmallPicture } from "./pictures.tsx";
import { JobState } from "./state.tsx";
import { CANCEL_JOB, useJobActions } from "./use-job-actions.ts";

const CRUMBS = [{ title: "Captures", href: "/ui/captures" }];

/** What the job is, and everything that can be done to it. */
export function JobHead({ job }: { job: Job }) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const room = useRoom();
  const ended = job.finished_at !== null;
  const actions = useJobActions(job);
  const close = () => setAsked(null);
  const roomy = room !== "phone";
  return (
    <PageHead
      slim
      title={job.title || job.url}
      crumbs={CRUMBS}
      icon={
        job.favicon_href !== null && <SmallPicture className="job-icon" src={job.favicon_href} />
      }
      badges={<JobState job={job} chip />}
      primary={roomy && <Primary job={job} actions={actions} onCancel={() => setAsked("cancel")} />}
      more={useMore(job, actions, setAsked)}
    >
      {job.status === "running" && job.session_id && roomy && (
        <Button
          variant="subtle"
          color="gray"
          data-quiet
          title="Take a screenshot"
          leftSection={<IconCamera size={16} />}
          loading={actions.picture.isPending}
          onClick={() => actions.picture.mutate(undefined)}
        >
          Take a screenshot
        </Button>
      )}
      {roomy ? (
        <Button
          variant="subtle"
          color="gray"
          data-quiet
          title="Share moment"
          leftSection={<IconLink size={16} />}
          onClick={() => void copyMoment()}
        >
          Share moment
        </Button>
      ) : (
        <ActionIcon
          size="lg"
          variant="subtle"
          color="gray"
          aria-label="Share moment"
          onClick={() => void copyMoment()}
        >
          <IconLink size={20} stroke={1.75} />
        </ActionIcon>
      )}
      {ended && roomy && <Compare job={job} />}
      <ConfirmDialog
        opened={asked === "cancel"}
        onClose={close}
        question={CANCEL_JOB.question}
        text={CANCEL_JOB.text}
        confirm={CANCEL_JOB.confirm}
        onConfirm={() => actions.cancel.mutate(undefined)}
      />
      <ConfirmDialog
        opened={asked === "delete"}
        onClose={close}
        question="Delete this job?"
        text={`Its record, its log and its ${counted(job.asset_count, "file")} are gone for good.${ended ? "" : " It is cancelled first."}`}
        confirm="Delete the job"
        onConfirm={() => actions.remove.mutate(undefined)}
      />
    </PageHead>
  );
}

type Actions = ReturnType<typeof useJobActions>;
type Asked = "cancel" | "delete";

interface PrimaryProps {
  job: Job;
  actions: Actions;
  onCancel: () => void;
}

/** Run it again, or end it. */
function Primary({ job, actions, onCancel }: PrimaryProps) {
  if (job.finished_at === null)
    return (
      <Button
        variant="default"
        leftSection={<IconPlayerStop size={16} />}
        loading={actions.cancel.isPending}
        onClick={onCancel}
      >
        Cancel
      </Button>
    );
  return (
    <Button
      leftSection={<IconRefresh size={16} />}
      loading={actions.rerun.isPending}
      onClick={() => actions.rerun.mutate(undefined)}
    >
      {runAgainWords(job)}
    </Button>
  );
}

/** On a phone the first action is in the menu, too. */
function firstOf(job: Job, actions: Actions, onAsk: (asked: Asked) => void): MoreAction {
  if (job.finished_at === null)
    return {
      label: "Cancel",
      icon: <IconPlayerStop size={16} />,
      onClick: () => onAsk("cancel"),
    };
  return {
    label: runAgainWords(job),
    icon: <IconRefresh size={16} />,
    onClick: () => actions.rerun.mutate(undefined),
  };
}

/** What is done seldom; on a phone all of it. */
function useMore(job: Job, actions: Actions, onAsk: (asked: Asked) => void): MoreAction[] {
  const room = useRoom();
  const [, navigate] = useLocation();
  const phone: MoreAction[] = room === "phone" ? [firstOf(job, actions, onAsk)] : [];
  const replay: MoreAction[] =
    job.status === "completed"
      ? [
          {
            label: "Replay",
            icon: <IconPlayerPlay size={16} />,
            onClick: () => actions.replay.mutate(null),
          },
        ]
      : [];
  return [
    ...phone,
    ...replay,
    {
      label: "Edit and submit again",
      icon: <IconPencil size={16} />,
      href: `/ui/captures/new?from=${seg(job.job_id)}`,
    },
    {
      label: "Facts and options",
      onClick: () => navigate(jobHref(job.job_id, { tab: "details" })),
    },
    ...downloadsOf(job),
    {
      label: "Delete",
      icon: <IconTrash size={16} />,
      danger: true,
      onClick: () => onAsk("delete"),
    },
  ];
}

function downloadsOf(job: Job): MoreAction[] {
  const of = { params: { id: job.job_id } };
  const names = DOCUMENT_NAMES.filter((name) => name !== "trace.zip" || job.options.trace);
  return names.map((name, i) => ({
    label: `${name} · ${JOB_DOCUMENTS[name].label}`,
    icon: <IconDownload size={16} />,
    href: pathOf(`GET /jobs/{id}/${name}`, of),
    download: `${job.job_id}-${name}`,
    ...(i === 0 ? { group: "Download" } : {}),
  }));
}
