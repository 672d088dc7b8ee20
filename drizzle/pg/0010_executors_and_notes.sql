CREATE TABLE "run_notes" (
	"task_id" bigint NOT NULL,
	"epoch" bigint NOT NULL,
	"progress" double precision,
	"progress_text" text,
	"lines" jsonb NOT NULL,
	"dropped" integer NOT NULL,
	"seq" integer NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "run_notes_task_id_epoch_pk" PRIMARY KEY("task_id","epoch")
);
--> statement-breakpoint
ALTER TABLE "pull_workers" ADD COLUMN "broken" jsonb;--> statement-breakpoint
CREATE INDEX "run_notes_updated_idx" ON "run_notes" USING btree ("updated_at");