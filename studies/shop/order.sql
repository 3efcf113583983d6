-- A customer buys something; some things are bought more often than others.
\set customer random(1, 1000 * :scale)
\set item random_zipfian(1, 100 * :scale, 1.1)
BEGIN;
UPDATE items SET stock = stock - 1 WHERE id = :item RETURNING price \gset
INSERT INTO orders (customer, item, price) VALUES (:customer, :item, :price);
UPDATE customers SET spent = spent + :price WHERE id = :customer;
COMMIT;
