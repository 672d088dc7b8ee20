CREATE TABLE "once_keys" (
	"workload_id" bigint NOT NULL,
	"pk" text NOT NULL,
	CONSTRAINT "once_keys_workload_id_pk_pk" PRIMARY KEY("workload_id","pk")
);
