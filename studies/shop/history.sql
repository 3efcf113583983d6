-- What a customer bought.
\set customer random(1, 1000 * :scale)
SELECT items.id, count(*), sum(orders.price)
FROM orders JOIN items ON items.id = orders.item
WHERE orders.customer = :customer
GROUP BY items.id;
