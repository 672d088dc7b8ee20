DROP INDEX "runs_failed_idx";--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "fingerprint" text;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "retried_as" text;--> statement-breakpoint
ALTER TABLE "runs" ADD COLUMN "fingerprint" text;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "fingerprint" text;--> statement-breakpoint
CREATE INDEX "jobs_fingerprint_created_idx" ON "jobs" USING btree ("fingerprint","created_at","job_id") WHERE fingerprint is not null;--> statement-breakpoint
CREATE INDEX "runs_fingerprint_idx" ON "runs" USING btree ("fingerprint","run_id") WHERE fingerprint is not null;--> statement-breakpoint
CREATE INDEX "tasks_fingerprint_idx" ON "tasks" USING btree ("fingerprint","task_id") WHERE fingerprint is not null;--> statement-breakpoint
CREATE INDEX "runs_failed_idx" ON "runs" USING btree ("finished_at","run_id","fingerprint","workload_id","worker_id","outcome") WHERE outcome <> 0;