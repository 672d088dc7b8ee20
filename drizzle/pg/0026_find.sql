CREATE TABLE "job_labels" (
	"job_id" text NOT NULL,
	"key" text NOT NULL,
	"value" text NOT NULL,
	"created_at" bigint NOT NULL,
	CONSTRAINT "job_labels_job_id_key_pk" PRIMARY KEY("job_id","key")
);
--> statement-breakpoint
CREATE TABLE "job_texts" (
	"text_id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "job_texts_text_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"job_id" text NOT NULL,
	"words" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "saved_lists" (
	"page" text NOT NULL,
	"name" text NOT NULL,
	"filters" jsonb NOT NULL,
	"saved_by" text NOT NULL,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "saved_lists_page_name_pk" PRIMARY KEY("page","name")
);
--> statement-breakpoint
CREATE TABLE "task_labels" (
	"task_id" bigint NOT NULL,
	"key" text NOT NULL,
	"value" text NOT NULL,
	CONSTRAINT "task_labels_task_id_key_pk" PRIMARY KEY("task_id","key")
);
--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "labels" jsonb;--> statement-breakpoint
ALTER TABLE "job_labels" ADD CONSTRAINT "job_labels_job_id_jobs_job_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("job_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "job_texts" ADD CONSTRAINT "job_texts_job_id_jobs_job_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."jobs"("job_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "job_labels_value_idx" ON "job_labels" USING btree ("key","value","created_at","job_id");--> statement-breakpoint
CREATE INDEX "job_labels_key_idx" ON "job_labels" USING btree ("key","created_at","job_id");--> statement-breakpoint
CREATE UNIQUE INDEX "job_texts_job_idx" ON "job_texts" USING btree ("job_id");--> statement-breakpoint
CREATE INDEX "task_labels_value_idx" ON "task_labels" USING btree ("key","value","task_id");--> statement-breakpoint
CREATE INDEX "runs_failed_pk_idx" ON "runs" USING btree ("pk") WHERE outcome <> 0;--> statement-breakpoint
CREATE VIEW job_words AS SELECT job_id, translate(concat_ws(' ', left(url, 2000), CASE WHEN final_url <> url THEN left(final_url, 2000) END,
    left(title, 1000), left(error, 2000), labels::text, left(answer::text, 2000)),
  '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ') AS words
FROM jobs;
--> statement-breakpoint
INSERT INTO job_texts (job_id, words) SELECT w.job_id, w.words FROM jobs j JOIN job_words w ON w.job_id = j.job_id
WHERE j.status IN ('completed', 'failed', 'cancelled') ORDER BY j.created_at, j.job_id;
--> statement-breakpoint
ALTER TABLE job_texts ADD COLUMN vector tsvector GENERATED ALWAYS AS (to_tsvector('simple', words)) STORED;
--> statement-breakpoint
CREATE INDEX job_texts_index ON job_texts USING gin (vector);
--> statement-breakpoint
CREATE FUNCTION flotilla_keep_job_text() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO job_texts (job_id, words) SELECT job_id, words FROM job_words WHERE job_id = new.job_id
  ON CONFLICT (job_id) DO UPDATE SET words = excluded.words;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER jobs_ended_text AFTER UPDATE OF status ON jobs FOR EACH ROW
WHEN (new.status IN ('completed', 'failed', 'cancelled') AND old.status NOT IN ('completed', 'failed', 'cancelled'))
EXECUTE FUNCTION flotilla_keep_job_text();
--> statement-breakpoint
CREATE TRIGGER jobs_labelled_text AFTER UPDATE OF labels ON jobs FOR EACH ROW
WHEN (new.status IN ('completed', 'failed', 'cancelled') AND new.labels IS DISTINCT FROM old.labels)
EXECUTE FUNCTION flotilla_keep_job_text();
