-- An order of a few items; a customer in ten comes back for more.
\set customer random_zipfian(1, 1000 * :scale, 1.1)
\set items random_gaussian(1, 10, 2.5)
\set region case when :customer % 2 = 0 then 1 else abs(-2) end
BEGIN;
SELECT id, "credit" FROM customers WHERE id = :customer AND note <> 'a;b' \gset c_
\if :c_credit > 10 and :items is not null
INSERT INTO orders (customer, items, at) VALUES (:customer, :items, now()::date);
\elif :customer = permute(5, 10) or not :c_credit <> 0
UPDATE customers SET credit = credit + :items WHERE id = :customer; -- a comment; with one
\else
\sleep 2 ms
\endif
SELECT E'it\'s', $tag$ a; $$ b $tag$, /* a; /* nested */ comment */ (1); END;
