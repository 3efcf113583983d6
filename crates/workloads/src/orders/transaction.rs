//! The five transactions: what each draws, and the statements it comes to (TPC-C revision 5.11, clauses 2.4 to 2.8 and 5.2).

use super::names::{DISTRICTS, ITEMS, OF_RUN, uniform};
use super::statements::Sql;
use random::Random;

/// A kind of transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An order of 5 to 15 items.
    NewOrder,
    /// A customer pays.
    Payment,
    /// A customer asks for the last order.
    OrderStatus,
    /// The oldest open order of each district is delivered.
    Delivery,
    /// How many of the last orders' items are short.
    StockLevel,
}

/// All of them, with their names.
pub const KINDS: [(Kind, &str); 5] = [
    (Kind::NewOrder, "new order"),
    (Kind::Payment, "payment"),
    (Kind::OrderStatus, "order status"),
    (Kind::Delivery, "delivery"),
    (Kind::StockLevel, "stock level"),
];

impl Kind {
    /// Its place among [`KINDS`].
    pub fn number(self) -> usize {
        KINDS.iter().position(|(kind, _)| *kind == self).expect("all are listed")
    }

    /// Seconds that a terminal takes to key it in (5.2.5.7).
    pub fn keying_seconds(self) -> f64 {
        [18.0, 3.0, 2.0, 2.0, 2.0][self.number()]
    }

    /// Mean seconds that a user thinks after it (5.2.5.7); nobody thinks more than ten times as long (5.2.5.4).
    pub fn thinking_seconds(self, random: &mut Random) -> f64 {
        let mean = [12.0, 12.0, 10.0, 5.0, 5.0][self.number()];
        (-(1.0 - random.fraction()).ln() * mean).min(10.0 * mean)
    }
}

/// Who is meant: by number, or, in six of ten, by last name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Customer {
    /// By number.
    Number(i64),
    /// By last name: the one in the middle of all that have it.
    Name(String),
}

impl Customer {
    fn draw(random: &mut Random) -> Customer {
        if uniform(random, 1, 100) <= 60 {
            Customer::Name(OF_RUN.last_name(random))
        } else {
            Customer::Number(OF_RUN.customer(random))
        }
    }
}

/// A line of a new order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The item; one that is not there is what one of a hundred orders asks for in the end.
    pub item: i64,
    /// The warehouse that has it: another one in one of a hundred lines.
    pub supplier: i64,
    /// How many.
    pub quantity: i64,
}

/// What a transaction is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs {
    /// Its kind.
    pub kind: Kind,
    /// The terminal's own.
    pub warehouse: i64,
    /// A district of it.
    pub district: i64,
    /// Whose order or payment.
    pub customer: Customer,
    /// The customer's own warehouse and district: elsewhere in 15 of 100 payments.
    pub customer_at: (i64, i64),
    /// Of a new order.
    pub lines: Vec<Line>,
    /// Of a payment, in cents.
    pub amount_cents: i64,
    /// Of a delivery.
    pub carrier: i64,
    /// Of a stock level.
    pub threshold: i64,
}

/// Another warehouse than this, where there is one.
fn other(random: &mut Random, warehouse: i64, warehouses: i64) -> i64 {
    if warehouses == 1 {
        return warehouse;
    }
    let drawn = uniform(random, 1, warehouses - 1);
    if drawn >= warehouse { drawn + 1 } else { drawn }
}

impl Inputs {
    /// Draws them.
    pub fn draw(random: &mut Random, kind: Kind, warehouse: i64, warehouses: i64) -> Inputs {
        let district = uniform(random, 1, DISTRICTS);
        let customer =
            if kind == Kind::NewOrder { Customer::Number(OF_RUN.customer(random)) } else { Customer::draw(random) };
        let is_elsewhere = kind == Kind::Payment && warehouses > 1 && uniform(random, 1, 100) > 85;
        let customer_at = if is_elsewhere {
            (other(random, warehouse, warehouses), uniform(random, 1, DISTRICTS))
        } else {
            (warehouse, district)
        };
        let count = if kind == Kind::NewOrder { uniform(random, 5, 15) } else { 0 };
        let mut lines: Vec<Line> = (0..count)
            .map(|_| Line {
                item: OF_RUN.item(random),
                supplier: if uniform(random, 1, 100) == 1 { other(random, warehouse, warehouses) } else { warehouse },
                quantity: uniform(random, 1, 10),
            })
            .collect();
        if let Some(last) = lines.last_mut().filter(|_| uniform(random, 1, 100) == 1) {
            last.item = ITEMS + 1;
        }
        Inputs {
            kind,
            warehouse,
            district,
            customer,
            customer_at,
            lines,
            amount_cents: uniform(random, 100, 500_000),
            carrier: uniform(random, 1, 10),
            threshold: uniform(random, 10, 20),
        }
    }

    /// The statements that are sure to come, each with the line or district that it is for.
    pub fn steps(&self) -> Vec<(Sql, usize)> {
        let by_name = matches!(self.customer, Customer::Name(_)).then_some(Sql::CustomersByName);
        let between: Vec<(Sql, usize)> = match self.kind {
            Kind::NewOrder => {
                let head =
                    [Sql::WarehouseAndCustomer, Sql::District, Sql::NextOrder, Sql::InsertOrder, Sql::InsertNewOrder];
                let of_line =
                    |line: usize| [Sql::Item, Sql::Stock, Sql::UpdateStock, Sql::InsertLine].map(|sql| (sql, line));
                head.map(|sql| (sql, 0)).into_iter().chain((0..self.lines.len()).flat_map(of_line)).collect()
            }
            Kind::Payment => {
                let head = [Sql::PayWarehouse, Sql::WarehouseAddress, Sql::PayDistrict, Sql::DistrictAddress];
                let tail = [Sql::CustomerToPay, Sql::PayCustomer, Sql::InsertHistory];
                head.into_iter().chain(by_name).chain(tail).map(|sql| (sql, 0)).collect()
            }
            Kind::OrderStatus => {
                let tail = [Sql::CustomerBalance, Sql::LastOrder, Sql::OrderLines];
                by_name.into_iter().chain(tail).map(|sql| (sql, 0)).collect()
            }
            Kind::Delivery => {
                let of_district = |district: usize| {
                    [
                        Sql::OldestNewOrder,
                        Sql::DeleteNewOrder,
                        Sql::CustomerOfOrder,
                        Sql::CarryOrder,
                        Sql::DeliverLines,
                        Sql::SumOfLines,
                        Sql::DeliverToCustomer,
                    ]
                    .map(|sql| (sql, district))
                };
                (1..=DISTRICTS as usize).flat_map(of_district).collect()
            }
            Kind::StockLevel => [Sql::NextOrderOfDistrict, Sql::LowStock].map(|sql| (sql, 0)).to_vec(),
        };
        [(Sql::Begin, 0)].into_iter().chain(between).chain([(Sql::Commit, 0)]).collect()
    }
}

/// How often each kind comes, in the order of [`KINDS`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mix(pub [u64; 5]);

impl Mix {
    /// Draws a kind.
    pub fn draw(&self, random: &mut Random) -> Kind {
        KINDS[random.weighted(&self.0)].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares of 5.2.3, 2.4.1.4 (1 % roll back), 2.4.1.5 (1 % of lines are from elsewhere), 2.5.1.2 (15 % of payments, 60 % by name).
    #[test]
    fn inputs_have_the_standards_shares() {
        const DRAWS: usize = 100_000;
        let (mut random, mix) = (Random::new(3), Mix([45, 43, 4, 4, 4]));
        let all: Vec<Inputs> = (0..DRAWS)
            .map(|_| {
                let kind = mix.draw(&mut random);
                Inputs::draw(&mut random, kind, 2, 5)
            })
            .collect();
        let close = |found: usize, of: usize, share: f64| {
            let (found, of) = (found as f64, of as f64);
            let deviation = (share * (1.0 - share) / of).sqrt();
            assert!((found / of - share).abs() < 5.0 * deviation, "{found} of {of}, not {share}");
        };
        let of = |kind: Kind| all.iter().filter(move |inputs| inputs.kind == kind);
        for ((kind, _), share) in KINDS.iter().zip([0.45, 0.43, 0.04, 0.04, 0.04]) {
            close(of(*kind).count(), DRAWS, share);
        }
        let orders = of(Kind::NewOrder).count();
        close(
            of(Kind::NewOrder).filter(|order| order.lines.iter().any(|line| line.item > ITEMS)).count(),
            orders,
            0.01,
        );
        let lines: Vec<&Line> = of(Kind::NewOrder).flat_map(|order| &order.lines).collect();
        close(lines.iter().filter(|line| line.supplier != 2).count(), lines.len(), 0.01);
        close(of(Kind::Payment).filter(|payment| payment.customer_at.0 != 2).count(), of(Kind::Payment).count(), 0.15);
        let by_name = of(Kind::Payment).filter(|payment| matches!(payment.customer, Customer::Name(_))).count();
        close(by_name, of(Kind::Payment).count(), 0.6);
        assert!(lines.iter().all(|line| (1..=5).contains(&line.supplier) && (1..=10).contains(&line.quantity)));
    }
}
