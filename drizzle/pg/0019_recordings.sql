CREATE TABLE "recordings" (
	"run_id" text PRIMARY KEY NOT NULL,
	"job_id" text,
	"session_id" text NOT NULL,
	"mode" text NOT NULL,
	"state" text NOT NULL,
	"started_at" bigint NOT NULL,
	"ended_at" bigint,
	"sealed" bigint NOT NULL,
	"parts" jsonb NOT NULL,
	"contents" jsonb NOT NULL
);
--> statement-breakpoint
CREATE INDEX "recordings_job_idx" ON "recordings" USING btree ("job_id","started_at");--> statement-breakpoint
CREATE INDEX "recordings_session_idx" ON "recordings" USING btree ("session_id");--> statement-breakpoint
CREATE INDEX "recordings_ended_idx" ON "recordings" USING btree ("ended_at","run_id");