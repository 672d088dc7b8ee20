ALTER TABLE "deploys" ADD COLUMN "beat_at" bigint;--> statement-breakpoint
ALTER TABLE "deploys" ADD COLUMN "outcome" text;--> statement-breakpoint
ALTER TABLE "pull_workers" ADD COLUMN "host_cpu_percent" double precision;--> statement-breakpoint
CREATE INDEX "runs_failed_idx" ON "runs" USING btree ("finished_at") WHERE outcome <> 0;