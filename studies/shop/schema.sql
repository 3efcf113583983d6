CREATE TABLE customers (
    id integer PRIMARY KEY,
    name char(30) NOT NULL,
    spent bigint NOT NULL
);

CREATE TABLE items (
    id integer PRIMARY KEY,
    price integer NOT NULL,
    stock integer NOT NULL
);

CREATE TABLE orders (
    id serial PRIMARY KEY,
    customer integer NOT NULL REFERENCES customers,
    item integer NOT NULL REFERENCES items,
    price integer NOT NULL
);

CREATE INDEX orders_of_customer ON orders (customer);
