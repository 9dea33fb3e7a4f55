CREATE TABLE public.attempts (
    id integer NOT NULL,
    learner text NOT NULL,
    exercise text NOT NULL,
    notebook_hash text NOT NULL,
    key_hash text NOT NULL,
    submitted_at timestamp with time zone NOT NULL,
    last_submitted_at timestamp with time zone NOT NULL,
    graded_at timestamp with time zone NOT NULL,
    grader_version text NOT NULL,
    sandbox text NOT NULL,
    status text NOT NULL,
    points double precision NOT NULL,
    max_points double precision NOT NULL,
    messages json NOT NULL
);
CREATE SEQUENCE public.attempts_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.attempts_id_seq OWNED BY public.attempts.id;
CREATE TABLE public.gradebook (
    version integer NOT NULL
);
CREATE SEQUENCE public.gradebook_version_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.gradebook_version_seq OWNED BY public.gradebook.version;
CREATE TABLE public.manual_points (
    id integer NOT NULL,
    learner text NOT NULL,
    exercise text NOT NULL,
    points double precision NOT NULL,
    why text NOT NULL,
    given_at timestamp with time zone NOT NULL
);
CREATE SEQUENCE public.manual_points_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.manual_points_id_seq OWNED BY public.manual_points.id;
CREATE TABLE public.results (
    attempt_id integer NOT NULL,
    "position" integer NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    status text NOT NULL,
    points double precision NOT NULL,
    max_points double precision NOT NULL,
    title text NOT NULL,
    message text NOT NULL,
    detail text NOT NULL
);
CREATE TABLE public.told_times (
    learner text NOT NULL,
    exercise text NOT NULL,
    notebook_hash text NOT NULL,
    submitted_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY public.attempts ALTER COLUMN id SET DEFAULT nextval('public.attempts_id_seq'::regclass);
ALTER TABLE ONLY public.gradebook ALTER COLUMN version SET DEFAULT nextval('public.gradebook_version_seq'::regclass);
ALTER TABLE ONLY public.manual_points ALTER COLUMN id SET DEFAULT nextval('public.manual_points_id_seq'::regclass);
INSERT INTO public.attempts VALUES (1, 'ada', 'double', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk', '2026-10-05 12:00:00+00', '2026-10-05 12:00:00+00', '2026-10-05 13:00:00+00', '0.1.0', 'bubblewrap', 'graded', 2, 2.5, '["`halve` does not halve"]');
INSERT INTO public.attempts VALUES (2, 'bob', 'double', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk', '2026-10-04 12:00:00+00', '2026-10-04 12:00:00+00', '2026-10-04 13:00:00+00', '0.1.0', 'bubblewrap', 'graded', 2, 2.5, '["`halve` does not halve"]');
INSERT INTO public.gradebook VALUES (1);
INSERT INTO public.manual_points VALUES (1, 'ada', 'double', 1.5, 'oral', '2026-10-05 12:00:00+00');
INSERT INTO public.results VALUES (1, 0, 'check_double', 'check', 'failed', 0, 0, '', 'twice one is two', '');
INSERT INTO public.results VALUES (1, 1, 'test_double', 'test', 'passed', 2, 2, 'Doubling works.', '', '');
INSERT INTO public.results VALUES (1, 2, 'test_halve', 'test', 'failed', 0, 0.5, 'Halving works.', '`halve` does not halve', 'assert 41.5');
INSERT INTO public.results VALUES (2, 0, 'check_double', 'check', 'failed', 0, 0, '', 'twice one is two', '');
INSERT INTO public.results VALUES (2, 1, 'test_double', 'test', 'passed', 2, 2, 'Doubling works.', '', '');
INSERT INTO public.results VALUES (2, 2, 'test_halve', 'test', 'failed', 0, 0.5, 'Halving works.', '`halve` does not halve', 'assert 41.5');
INSERT INTO public.told_times VALUES ('bob', 'double', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '2026-10-05 12:00:00+00');
SELECT pg_catalog.setval('public.attempts_id_seq', 2, true);
SELECT pg_catalog.setval('public.gradebook_version_seq', 1, false);
SELECT pg_catalog.setval('public.manual_points_id_seq', 1, true);
ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_learner_exercise_notebook_hash_key UNIQUE (learner, exercise, notebook_hash);
ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.gradebook
    ADD CONSTRAINT gradebook_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.manual_points
    ADD CONSTRAINT manual_points_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.results
    ADD CONSTRAINT results_pkey PRIMARY KEY (attempt_id, "position");
ALTER TABLE ONLY public.told_times
    ADD CONSTRAINT told_times_pkey PRIMARY KEY (learner, exercise, notebook_hash);
CREATE INDEX ix_manual_points_learner ON public.manual_points USING btree (learner);
ALTER TABLE ONLY public.results
    ADD CONSTRAINT results_attempt_id_fkey FOREIGN KEY (attempt_id) REFERENCES public.attempts(id) ON DELETE CASCADE;
