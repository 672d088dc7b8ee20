import { Button } from "@mantine/core";
import { IconBraces, IconCopy } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { counted } from "#shared/kit/words.ts";
import type { AttemptSummary } from "#shared/protocol/schema/attempt.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { copyText } from "../../lib/clipboard.ts";
import { tellDone } from "../../lib/query.ts";
import { countText } from "../../lib/units.ts";
import { showUncopied } from "../../parts/copy.tsx";
import { lookOf } from "../../parts/status/look.ts";
import { StatusMark } from "../../parts/status-mark.tsx";
import { answerText, partsOf } from "./answer-text.ts";

interface AnswerBandProps {
  job: Job;
  attempts: readonly AttemptSummary[];
}

/** Of a job with a goal: what was asked, the answer, and who has checked it. */
export function AnswerBand({ job, attempts }: AnswerBandProps) {
  const [json, setJson] = useState(false);
  const text = useMemo(() => answerText(job.answer), [job.answer]);
  const raw = JSON.stringify(job.answer, null, 2);
  return (
    <section className="verdict answer-band" aria-label="Answer">
      <div className="answer-words">
        <p className="answer-question">{String(job.options.goal ?? "")}</p>
        {json ? <pre className="answer-json">{raw}</pre> : <AnswerText text={text} />}
      </div>
      <Proof attempts={attempts} />
      <div className="answer-actions">
        <Button
          size="xs"
          variant="default"
          leftSection={<IconCopy size={14} />}
          onClick={() => void copyAnswer(json ? raw : text)}
        >
          Copy
        </Button>
        <Button
          size="xs"
          variant={json ? "light" : "default"}
          aria-pressed={json}
          leftSection={<IconBraces size={14} />}
          onClick={() => setJson(!json)}
        >
          JSON
        </Button>
      </div>
    </section>
  );
}

/** An answer in words, its figures marked. */
export function AnswerText({ text }: { text: string }) {
  return (
    <p className="answer-text">
      {partsOf(text).map(({ text: part, figure }, i) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text
        figure ? <b key={i}>{part}</b> : <span key={i}>{part}</span>,
      )}
    </p>
  );
}

async function copyAnswer(text: string): Promise<void> {
  if (await copyText(text)) tellDone("The answer is copied");
  else showUncopied(text);
}

/** Who says that the answer is right, and what it took. */
function Proof({ attempts }: { attempts: readonly AttemptSummary[] }) {
  const last = attempts.at(-1);
  if (!last?.verdict) return null;
  const { verdict, engine } = last;
  const tokens = attempts.reduce(
    (sum, { tokens: used }) => sum + (used ? used.prompt_tokens + used.completion_tokens : 0),
    0,
  );
  const { icon } = lookOf(verdict.ok ? "completed" : "failed");
  const by =
    verdict.by === "judge" ? `Checked by ${verdict.engine ?? "the judge"}` : "Checked by rules";
  const facts = [
    engine,
    counted(attempts.length, "attempt"),
    tokens > 0 ? `${countText(tokens)} tokens` : null,
  ].filter(Boolean);
  return (
    <div className="answer-proof">
      <StatusMark
        look={{ word: verdict.ok ? by : "Not confirmed", tone: verdict.ok ? "ok" : "bad", icon }}
        title={verdict.reason}
      />
      <span className="answer-reason">{verdict.reason}</span>
      <span>{facts.join(" · ")}</span>
    </div>
  );
}
