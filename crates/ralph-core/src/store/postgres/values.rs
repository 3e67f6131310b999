//! Values between rusqlite's types, which queries use for both engines, and PostgreSQL's.

use std::error::Error;

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

type Failed = Box<dyn Error + Sync + Send>;

/// A value of a row.
pub fn value(row: &Row, index: usize) -> rusqlite::Result<ValueRef<'_>> {
    match row.try_get::<_, Cell<'_>>(index) {
        Ok(Cell(value)) => Ok(value),
        Err(error) => Err(rusqlite::Error::FromSqlConversionFailure(
            index,
            rusqlite::types::Type::Null,
            Box::new(error),
        )),
    }
}

struct Cell<'r>(ValueRef<'r>);

impl<'r> FromSql<'r> for Cell<'r> {
    fn from_sql(kind: &Type, raw: &'r [u8]) -> Result<Self, Failed> {
        Ok(Self(match *kind {
            Type::INT8 => ValueRef::Integer(i64::from_sql(kind, raw)?),
            Type::INT4 => ValueRef::Integer(i32::from_sql(kind, raw)?.into()),
            Type::INT2 => ValueRef::Integer(i16::from_sql(kind, raw)?.into()),
            Type::BOOL => ValueRef::Integer(bool::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => ValueRef::Real(f64::from_sql(kind, raw)?),
            Type::NUMERIC => numeric(raw).ok_or("a number that cannot be read")?,
            Type::BYTEA => ValueRef::Blob(raw),
            _ => ValueRef::Text(raw),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Failed> {
        Ok(Self(ValueRef::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Sums of whole numbers come as digits to the base of 10,000.
fn numeric(raw: &[u8]) -> Option<ValueRef<'static>> {
    let word = |at: usize| raw.get(at..at + 2)?.try_into().ok().map(i16::from_be_bytes);
    let (count, weight, is_negative) = (word(0)?, i32::from(word(2)?), word(4)? == 0x4000);
    let mut sum = 0.0;
    let mut whole: Option<i64> = Some(0);
    for place in 0..count {
        let digit = word(8 + 2 * usize::try_from(place).ok()?)?;
        let power = weight - i32::from(place);
        sum += f64::from(digit) * 10_000_f64.powi(power);
        whole = match u32::try_from(power) {
            Ok(power) => whole.and_then(|whole| {
                whole.checked_add(i64::from(digit).checked_mul(10_000_i64.checked_pow(power)?)?)
            }),
            Err(_) => None,
        };
    }
    Some(match whole {
        Some(whole) => ValueRef::Integer(if is_negative { -whole } else { whole }),
        None => ValueRef::Real(if is_negative { -sum } else { sum }),
    })
}

/// A value for a statement, as the type that the server expects there.
#[derive(Debug)]
pub struct Bound(pub Value);

impl Bound {
    pub fn of(value: &dyn rusqlite::ToSql) -> rusqlite::Result<Self> {
        match value.to_sql()? {
            ToSqlOutput::Borrowed(value) => {
                let value = Value::try_from(value);
                Ok(Self(value.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?))
            }
            ToSqlOutput::Owned(value) => Ok(Self(value)),
            _ => Err(rusqlite::Error::ToSqlConversionFailure("a value of this kind cannot be stored".into())),
        }
    }
}

impl ToSql for Bound {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Failed> {
        let wrong = || Err(format!("a value of another type than {kind} was given").into());
        match (ValueRef::from(&self.0), kind) {
            (ValueRef::Null, _) => Ok(IsNull::Yes),
            (ValueRef::Integer(number), &Type::INT8) => number.to_sql(kind, out),
            (ValueRef::Integer(number), &Type::INT4) => i32::try_from(number)?.to_sql(kind, out),
            (ValueRef::Integer(number), &Type::BOOL) => (number != 0).to_sql(kind, out),
            (ValueRef::Integer(number), &Type::FLOAT8) => (number as f64).to_sql(kind, out),
            (ValueRef::Integer(number), &Type::TEXT) => number.to_string().to_sql(kind, out),
            (ValueRef::Real(number), &Type::FLOAT8) => number.to_sql(kind, out),
            (ValueRef::Text(text), &Type::BYTEA) => text.to_sql(kind, out),
            (ValueRef::Blob(bytes), &Type::BYTEA) => bytes.to_sql(kind, out),
            (ValueRef::Text(text), &(Type::TEXT | Type::VARCHAR | Type::NAME)) => {
                // Texts have no zero byte there, and must be Unicode.
                let text = String::from_utf8_lossy(text);
                match text.contains('\0') {
                    true => text.replace('\0', "\u{fffd}").to_sql(kind, out),
                    false => text.as_ref().to_sql(kind, out),
                }
            }
            _ => wrong(),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
